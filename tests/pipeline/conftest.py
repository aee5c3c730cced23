"""Fixtures for the components: a small vocabulary, an encoder, and documents with given mentions."""

from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc, Span

from spacy_sapbert.kb.build import build_store
from spacy_sapbert.types import Name, Record

COMPONENTS = ("abbreviation_resolver", "concept_matcher", "composite_splitter", "sapbert_linker")


def record(concept_id, *names, types=("Disease",), definition=None, source="one"):
    scopes = ["preferred"] + ["exact"] * (len(names) - 1)
    named = tuple(Name(text, scope, source) for text, scope in zip(names, scopes, strict=True))
    return Record(concept_id, named, (), tuple(types), definition)


RECORDS = (
    record("D1", "Breast Cancer", "cancer of the breast", "mammary cancer", definition="A cancer of the breast."),
    record("D2", "Ovarian Cancer"),
    record("D3", "Atrial Fibrillation"),
    record("D4", "Cystic Fibrosis", "mucoviscidosis", definition="An inherited disease."),
    record("D5", "Common Cold", "cold", "acute cold", source="two"),
    record("P1", "Cold Temperature", "cold", "coldness", types=("Phenomenon",)),
    record("C1", "Aspirin", "acetylsalicylic acid", types=("Drug", "Chemical"), source="two"),
    record("C2", "Aspartame", types=("Chemical",)),
    record("N1", "Acute Lymphoblastic Leukemia", "ALL"),
    record("N2", "Leukemia", types=()),
)


@pytest.fixture(scope="session")
def kb(tmp_path_factory: pytest.TempPathFactory) -> str:
    """RETURNS (str): the path of a store with a few concepts of several types and sources."""
    path = tmp_path_factory.mktemp("kb") / "few.kb"
    build_store(RECORDS, path)
    return str(path)


@pytest.fixture(scope="session")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    """RETURNS (str): the folder of a small BERT with random weights, which reads letter by letter."""
    return str(make_bert(tmp_path_factory.mktemp("bert")))


def make_bert(folder: Path) -> Path:
    import torch
    import transformers

    characters = "abcdefghijklmnopqrstuvwxyz0123456789"
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *characters, *(f"##{c}" for c in characters)]
    (folder / "vocab.txt").write_text("\n".join(pieces))
    transformers.BertTokenizerFast(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    size = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    transformers.BertModel(transformers.BertConfig(vocab_size=len(pieces), **size)).save_pretrained(folder)
    return folder


@pytest.fixture
def mark():
    """RETURNS (Callable): makes a document whose entities are the given mentions, each as "text" or ("text", "LABEL")."""

    def make(nlp: spacy.Language, text: str, *mentions: str | tuple[str, str]) -> Doc:
        doc = nlp.make_doc(text)
        doc.ents = spans(doc, mentions)
        return doc

    return make


def spans(doc: Doc, mentions) -> list[Span]:
    found = []
    for mention in mentions:
        text, label = (mention, "MENTION") if isinstance(mention, str) else mention
        start = doc.text.index(text)
        found.append(doc.char_span(start, start + len(text), label=label))
    return found
