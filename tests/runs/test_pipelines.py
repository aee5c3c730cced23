import io

import pytest
import spacy
from rich.console import Console
from spacy.language import Language

from spacy_sapbert.documents.input_documents import Problems
from spacy_sapbert.pipeline.tokenizer import BoundedTokenizer
from spacy_sapbert.runs import document_linker as pipelines
from spacy_sapbert.runs.document_linker import LinkingPipeline, LinkSettings
from spacy_sapbert.types import Document


@Language.component("fails_on_zebras")
def fails_on_zebras(doc):
    if "zebra" in doc.text:
        raise ValueError("zebra")
    return doc


@pytest.fixture
def linking(linking_folder, monkeypatch):
    monkeypatch.setattr(pipelines, "DOCUMENTS_PER_BATCH", 2)
    nlp = spacy.load(linking_folder)
    nlp.add_pipe("fails_on_zebras", first=True)
    return LinkingPipeline(LinkSettings(nlp), Problems(Console(file=io.StringIO())))


def documents(*texts):
    return [Document(str(i), text, position=f"text {i}") for i, text in enumerate(texts)]


TEXTS = [f"Cystic fibrosis (CF) and aspirin{i}, CF with breast and ovarian cancer." for i in range(8)]
FAILING = ["a zebra", *TEXTS[:2], "zebra", "zebra", "zebra", *TEXTS[2:], "last zebra"]


def test_the_others_of_a_batch_on_which_a_component_fails_are_linked(linking):
    texts = [record["text"] for record in linking(documents(*FAILING))]
    assert texts == TEXTS
    assert linking.problems.broken == len(FAILING) - len(TEXTS)


def test_independent_batches(linking):
    """What was linked before has no effect on a batch, not even on the last digit of a score."""
    generator = linking.nlp.get_pipe("sapbert_linker").linker.generator
    batches = [documents(*TEXTS)[first : first + 3] for first in range(0, len(TEXTS), 3)]
    linked = [record for batch in batches for record in linking.link(batch)]
    assert linked == list(linking(documents(*TEXTS)))
    cancer = "ovarian cancer"
    linking.link(documents("aspirin"))
    assert {text for text, *_ in generator._cache} == {"aspirin"}
    linking.link(documents(TEXTS[0]), independent=False)
    assert {"aspirin", cancer} <= {text for text, *_ in generator._cache}


def test_new_words_are_forgotten(linking):
    list(linking(documents(*TEXTS)))  # what the pipeline itself needs
    before = len(linking.nlp.vocab.strings)
    words = [f"newword{i}" for i in range(20)]
    assert [record["text"] for record in linking(documents(*words))] == words
    assert len(linking.nlp.vocab.strings) == before


def test_spacys_own_tokenizer_is_replaced_by_one_that_takes_linear_time(linking_folder):
    loaded = pipelines.load_pipeline(str(linking_folder))
    assert type(loaded.tokenizer) is BoundedTokenizer
    text = "It isn't (e.g.) 3.5 % of U.S. women."
    assert [token.text for token in loaded.make_doc(text)] == [token.text for token in spacy.blank("en")(text)]
    assert len(loaded.make_doc("(" * 20_000)) == 20_000


def test_so_is_that_of_a_pipeline_in_memory(linking_folder):
    linking = LinkingPipeline(LinkSettings(spacy.load(linking_folder)), Problems(Console(quiet=True)))
    assert type(linking.nlp.tokenizer) is BoundedTokenizer
