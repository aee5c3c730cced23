"""Every kind of index behind the linker: the same candidates, and the same behaviour, as where all is compared."""

import importlib.util
import multiprocessing
import pickle

import pytest
import spacy
from spacy.tokens import Doc, Span

from spacy_sapbert.encoders.encoder import open_encoder
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.filters import ALL, Filter
from spacy_sapbert.linking.candidates import CandidateGenerator
from spacy_sapbert.linking.storage import open_generator
from spacy_sapbert.pipeline.sapbert_linker import SapbertLinker
from spacy_sapbert.types import Name, Record
from spacy_sapbert.vectors import postgres_index
from spacy_sapbert.vectors.flat import cached_name_vectors
from spacy_sapbert.vectors.qdrant_index import Address, upload

QDRANT = importlib.util.find_spec("qdrant_client") is not None
WITHOUT_QDRANT = pytest.mark.skipif(not QDRANT, reason="qdrant-client is not installed")
DATABASES = [*(pytest.param(name, marks=WITHOUT_QDRANT) for name in ("names", "centroids")), "postgres"]
FAISS = ["HNSW", "IVF4,Flat;nprobe=4", "IVF4,PQ32x2;nprobe=4", "SQ8"]
# a database cannot tell that a text is a name it has, so the text is encoded: in float32, unlike the names on some CPUs
pytestmark = pytest.mark.usefixtures("float32_throughout")
TEXTS = ["bone pain", "name 16 of cold", "breast cancer"]


def records():
    """180 names; one belongs to two concepts, some are alike for an encoder that reads lower-case letters."""
    words = ["bone", "cell", "cold", "breast", "cancer", "gene", "pain", "skin", "lung", "liver"]
    for i in range(80):
        text = f"{words[i % 10]} {words[i // 10 % 10]} {i}"
        names = (Name(text, "preferred", "even" if i % 2 else "odd"), Name(f"name {i} of {words[i % 7]}", "exact", "b"))
        yield Record(f"C{i}", names, types=("Disease" if i % 5 else "Rare",))
    for i in range(10):  # H0 shares its name with C0, which has it from another source
        yield Record(f"H{i}", (Name(f"bone bone {i}", "exact", "b"),), types=("Other",))
        yield Record(f"T{i}", (Name(f"TWIN {i // 2}" if i % 2 else f"twin {i // 2}", "exact", "b"),), types=("Twin",))


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    return build_knowledge_base(records(), tmp_path_factory.mktemp("kb") / "names.kb")


@pytest.fixture(scope="module")
def encoder(tiny_encoder):
    return open_encoder(str(tiny_encoder), device="cpu")


@pytest.fixture
def exact(kb, encoder):
    return open_generator(kb, encoder, sparse=True)


@pytest.fixture(scope="module")
def database(kb, encoder, tmp_path_factory):
    """The folder of a database with two collections."""
    folder = tmp_path_factory.mktemp("database")
    for name in ("names", "centroids"):
        vectors = cached_name_vectors(kb, encoder)
        upload(kb, vectors, Address(str(folder), name), centroids=name == "centroids")
    return folder


@pytest.fixture(scope="module")
def schema(kb, encoder, postgres_server):
    """The address of a schema of PostgreSQL."""
    postgres_index.upload(kb, cached_name_vectors(kb, encoder), f"{postgres_server}#stores")
    return f"{postgres_server}#stores"


@pytest.fixture(params=[*FAISS, *DATABASES])
def index(request):
    """A setting of the linker."""
    if request.param == "postgres":
        return request.getfixturevalue("schema")
    if request.param not in ("names", "centroids"):
        return request.param
    return f"qdrant:{request.getfixturevalue('database')}#{request.param}"


@pytest.fixture
def generator(index, kb, encoder):
    return open_generator(kb, encoder, sparse=True, index=index)


def shown(candidates, index):
    """Which batch a text is in can change the last digit of a score. PostgreSQL keeps numbers of 16 bits."""
    digit = 1e-4 if index.startswith("postgresql") else 1.1e-5
    return [[(one.concept_id, one.name, pytest.approx(one.score, abs=digit)) for one in found] for found in candidates]


@pytest.mark.parametrize("filter", [ALL, Filter(types=("Rare", "Other")), Filter(("Disease",), ("b",))])
@pytest.mark.parametrize("sparse", [True, False])
def test_the_candidates_are_those_of_all_names(generator, exact, filter, sparse, index):
    ngrams = exact.ngrams if sparse else None
    expected = CandidateGenerator(exact.kb, ngrams, exact.vectors)(TEXTS, 5, filter)
    for limit in (200_000, 0):  # with names that pass scored one and all, and searched in the index
        found = CandidateGenerator(exact.kb, ngrams, generator.vectors, exact_limit=limit)(TEXTS, 5, filter)
        if "centroids" not in index:
            assert shown(found, index) == shown(expected, index)
            continue
        # for this encoder a concept's names are not alike, so their mean is near none of them; what is found is right
        of_all = CandidateGenerator(exact.kb, ngrams, exact.vectors)(TEXTS, 200, filter)
        for some, every in zip(shown(found, index), shown(of_all, index), strict=True):
            assert len(some) == 5
            assert [one for one in every if one in some] == some


def test_a_filter_comes_before_the_best_are_taken(generator):
    generator.exact_limit = 0
    for source, owner in (("odd", "C0"), ("b", "H0")):
        found = generator(["bone bone 0"], 3, Filter(sources=(source,)))[0]
        assert (found[0].concept_id, found[0].name) == (owner, "bone bone 0")
        assert len(found) == 3
    found = generator(["bone bone 0"], 20, Filter(types=("Twin",)))[0]
    assert {candidate.concept_id for candidate in found} == {f"T{i}" for i in range(10)}
    assert generator(["bone bone 0"], 3, Filter(types=("Twin",), sources=("odd",)))[0] == []


def test_names_that_are_alike_go_by_id(generator):
    found = generator(["Twin 3"], 2)[0]
    one = pytest.approx(1, abs=1.1e-5)
    assert [(candidate.concept_id, candidate.score) for candidate in found] == [("T6", one), ("T7", one)]


MENTIONS = ["cell pain 56", "name 16 of cold"]


@pytest.fixture(scope="module")
def settings(kb, tiny_encoder):
    return {"kb": str(kb.path), "encoder": str(tiny_encoder), "device": "cpu", "threshold": 0.5}


def links(linker):
    """What a linker says of two mentions: the fourth and fifth concept may be as good as equal."""
    doc = Doc(linker.vocab, " and ".join(MENTIONS).split())
    doc.ents = [Span(doc, 0, 3, "ANY"), Span(doc, 4, 8, "ANY")]
    return [(ent.text, ent.kb_id_, [concept_id for concept_id, _ in ent._.kb_ents[:3]]) for ent in linker(doc).ents]


@pytest.fixture(scope="module")
def expected(settings):
    return links(SapbertLinker(spacy.blank("en"), **settings))


@pytest.mark.filterwarnings("ignore:.W412.:UserWarning")
def test_saved_and_opened(settings, index, expected, tmp_path):
    linker = SapbertLinker(spacy.blank("en"), index=index, **settings)
    assert links(linker) == expected
    linker.to_disk(tmp_path / "saved")
    settings = {**settings, "kb": "/not/there.kb", "encoder": "/not/there"}
    opened = SapbertLinker(spacy.blank("en"), index=index, **settings).from_disk(tmp_path / "saved")
    of_bytes = SapbertLinker(spacy.blank("en"), index=index, **settings).from_bytes(opened.to_bytes())
    for again in (opened, of_bytes, pickle.loads(pickle.dumps(linker))):
        assert links(again) == expected
        assert type(again.linker.generator.vectors) is type(linker.linker.generator.vectors)


def test_another_index_at_load(settings, index, expected, tmp_path):
    SapbertLinker(spacy.blank("en"), index="SQ8", **settings).to_disk(tmp_path)
    assert links(SapbertLinker(spacy.blank("en"), index=index).from_disk(tmp_path)) == expected


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("index", [*FAISS, "postgres"], indirect=True)
def test_in_another_process(generator):
    generator.cache_size = 0
    expected = [[one.concept_id for one in found] for found in generator(TEXTS, 5)]
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def answer():
        sender.send([[one.concept_id for one in found] for found in generator(TEXTS, 5)])

    child = context.Process(target=answer, daemon=True)
    child.start()
    try:
        assert receiver.poll(60), "the child hangs"
        assert receiver.recv() == expected
    finally:
        child.kill()
