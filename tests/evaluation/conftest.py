import pytest
import spacy

from spacy_sapbert.types import Document, Mention

CANCER, BREAST, OVARIAN, CF, ASPIRIN, LITHIUM = "D009369", "D001943", "D010051", "D003550", "D001241", "D008094"
UNKNOWN = "D999999"


def document(text, *mentions, doc_id="1"):
    """A document whose mentions are given as (text, ids) or (text, ids, label)."""
    made = []
    for surface, ids, *label in mentions:
        start, concept_ids = text.index(surface), tuple(filter(None, ids.split("|")))
        made.append(Mention(start, start + len(surface), surface, *(label or ["Disease"]), ids=concept_ids))
    return Document(doc_id, text, tuple(made))


@pytest.fixture
def numbered(numbered_kb):
    nlp = spacy.blank("en")
    nlp.add_pipe("sapbert_linker", config={"kb": str(numbered_kb.path), "encoder": "none"})
    return nlp
