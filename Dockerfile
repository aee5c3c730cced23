# A server of a pipeline, for the CPU. Write the pipeline into ./pipeline before:
#
#   spacy-sapbert assemble --kb medic.kb -o pipeline
#   docker build -t linker .
#   docker run -p 5000:5000 -v "$PWD/pipeline:/pipeline:ro" linker /pipeline
#
# Without a pipeline, the container serves that of `spacy-sapbert demo`.
FROM python:3.11-slim AS build
WORKDIR /source
COPY pyproject.toml setup.py MANIFEST.in README.md CHANGELOG.md CONTRIBUTING.md LICENSE THIRD_PARTY.md ./
COPY configs configs
COPY spacy_sapbert spacy_sapbert
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.11-slim
# for a pipeline with a transformer: --build-arg EXTRAS=web,encoders
ARG EXTRAS=web
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/*.whl)[$EXTRAS]"
RUN useradd --create-home server
USER server
ENV PYTHONUNBUFFERED=1
EXPOSE 5000
# the cache of the demo's vectors is in the home folder
WORKDIR /home/server
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:5000/ready', timeout=4)"]
ENTRYPOINT ["spacy-sapbert", "serve", "--host", "0.0.0.0", "--port", "5000", "--log", "json"]
