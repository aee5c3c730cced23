import pytest
import spacy


@pytest.fixture
def numbered(numbered_kb):
    nlp = spacy.blank("en")
    nlp.add_pipe("sapbert_linker", config={"kb": str(numbered_kb.path), "encoder": "none"})
    return nlp
