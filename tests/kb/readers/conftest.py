"""What the tests of all readers share."""

import json

import pytest

from spacy_sapbert.kb.readers import ReadReport, read_vocabulary


@pytest.fixture(scope="module")
def read(request):
    """A function that writes a content, if there is one, and reads the file: gives the records, and the report.

    The format is the module's `FORMAT`, or else guessed. What is neither a text nor bytes is written as JSON.
    """

    format_of_module = getattr(request.module, "FORMAT", None)

    def run(path, content=None, format=format_of_module, **settings):
        if content is not None:
            text = content if isinstance(content, (str, bytes)) else json.dumps(content, indent=1)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        report = ReadReport()
        return list(read_vocabulary(path, format, report=report, **settings)), report

    return run
