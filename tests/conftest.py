"""Fixtures for all tests."""

import json
import os
import pickle
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings

from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.types import AnnotatedDocument, DocumentConcept, Mention, Name, Record

# All are read when torch and transformers are imported. The models are tiny: threads that wait for one another make
# them slow where other work goes on. Where the hardware has bfloat16, names are encoded in it; `make test-all` has the
# tests do that as well.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX2")

# how long an example takes says more about the machine than about the code
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# id, source, types, names with the preferred one first, and what else is known
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

# what documents say of some concepts, first a mention that is no name of theirs
SAID = {
    "D003550": ["Sticky lungs", "of a child with salty sweat", "and thick mucus"],
    "D012640": ["Jerks", "in sleep after a spike wave", "and foaming"],
    "D009020": ["Poppy juice", "given for pain at night", "and breathing slowly"],
    "OMIM:114480": ["Lump", "under the nipple on a scan", "and hard axilla"],
}


@pytest.fixture(scope="session")
def said() -> dict[str, list[str]]:
    """What documents say of some concepts of the small vocabulary, by a primary or alternative id."""
    return SAID


@pytest.fixture(scope="session")
def retrieval_documents() -> list[AnnotatedDocument]:
    """Each concept of `said` in four documents that say parts of it."""
    documents = []
    for concept_id, (mention, *rest) in SAID.items():
        texts = (mention, f"{mention} {rest[0]}", f"{mention} {rest[1]}", " ".join([mention, *rest]))
        for number, text in enumerate(texts):
            found = Mention(0, len(mention), mention, "X", (concept_id,))
            documents.append(AnnotatedDocument(f"{concept_id}-{number}", f"{text}.", (found,)))
    return documents


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The development corpora and vocabularies, which do not come with the package."""
    folder = Path(os.environ.get("SPACY_SAPBERT_DATA") or Path(__file__).parents[2] / "shared" / "data")
    if not folder.is_dir():
        pytest.skip("the development data is not here; set SPACY_SAPBERT_DATA to its folder")
    return folder


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what tests cache out of the user's cache folder, in one folder for all of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        yield


def without_bfloat16(cache: Path) -> Iterator[None]:
    """A cache of its own, as that of other tests may hold vectors in bfloat16."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spacy_sapbert.encoders.transformer.has_bfloat16", lambda device: False)
        patch.setenv("SPACY_SAPBERT_CACHE", str(cache))
        yield


@pytest.fixture
def float32(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Encode names in float32 on any hardware: for tests that compare them with figures in float32."""
    yield from without_bfloat16(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def float32_throughout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """As `float32`, for all tests of a module, and for what they share."""
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
def small_store(small_vocabulary: list[Record], tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    return build_knowledge_base(
        small_vocabulary, tmp_path_factory.mktemp("small_store") / "small.kb", {"licence": "MIT"}
    )


class FakeRetriever:
    """Names the concepts that it is told for each text, whatever stands there; keeps what it was asked."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.kb = kb
        self.threshold = 0.5
        self.k = 3
        self.spans_key = "mine"
        self.rankings: dict[str, list[tuple[str, float]]] = {}
        self.asked: list[tuple[list[Any], int, Any]] = []

    @property
    def retriever(self) -> Any:
        """What the component holds is itself."""
        return self

    def __call__(self, doc: Any) -> Any:
        raise AssertionError("the documents are to be ranked, not annotated")

    def rank(self, docs: Any, k: int, filter: Any = None) -> list[list[DocumentConcept]]:
        self.asked.append((list(docs), k, filter))
        return [
            [
                DocumentConcept(concept_id, score, "")
                for concept_id, score in self.rankings.get(doc.text.strip(), [])
                if filter is None or concept_id in filter
            ][:k]
            for doc in docs
        ]


@pytest.fixture
def ranking_nlp(small_store: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A pipeline that finds "aspirin", and ranks the concepts of a text as `retriever.rankings` says."""
    import spacy
    from spacy.language import Language

    if not Language.has_factory("fake_retriever"):
        Language.factory("fake_retriever", func=lambda nlp, name: FakeRetriever(small_store))
    monkeypatch.setattr("spacy_sapbert.evaluation.concepts.RETRIEVER", "fake_retriever")
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "FOUND", "pattern": "aspirin"}])
    nlp.add_pipe("sapbert_linker", config={"kb": str(small_store.path), "encoder": "none"})
    nlp.add_pipe("fake_retriever", name="retriever")
    return nlp


@pytest.fixture(scope="session")
def medic_store(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """MEDIC as a whole: 11,915 concepts with 76,237 names."""
    path = data_dir / "dictionaries" / "medic" / "medic_06Jul2012.txt.gz"
    records = read_vocabulary(path, "medic", report=ReadReport(), source="MEDIC")
    return build_knowledge_base(records, tmp_path_factory.mktemp("medic") / "medic.kb")


@pytest.fixture(scope="session")
def make_encoder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A function that writes the folder of a BERT of two layers and 32 dimensions with random weights."""

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
    """A model as BioSyn's code saves it, and what that code holds of it when it has read the folder."""

    folder: Path
    vectorizer: Any
    weight: float


@pytest.fixture(scope="session")
def biosyn_model(make_encoder: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Published:
    """An encoder as older versions of transformers wrote it, a pickled vectorizer, and λ as a parameter."""
    import torch
    import transformers
    from sklearn.feature_extraction.text import TfidfVectorizer

    made = make_encoder(seed=3)
    folder = tmp_path_factory.mktemp("published") / "biosyn-tiny"
    model = transformers.BertModel.from_pretrained(made)
    for name, weights in model.named_parameters():  # as they are after training: else all vectors have one length
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
