import pytest
import spacy

import spacy_sapbert
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.outputs import dataframes
from spacy_sapbert.outputs.tables import COLUMNS

TEXTS = ["Cystic fibrosis (CF) and a zebra.", "No mention here", "breast and ovarian cancer"]


@pytest.fixture(scope="module")
def nlp(linking_folder):
    return spacy.load(linking_folder)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_data_frame_has_the_columns_of_the_tables(library, nlp):
    module = pytest.importorskip(library)
    docs = list(nlp.pipe(TEXTS))
    frame = spacy_sapbert.to_dataframe(docs, library=library)
    assert isinstance(frame, module.DataFrame)
    assert list(frame.columns) == list(COLUMNS)
    rows = frame.to_dict("records") if library == "pandas" else frame.to_dicts()
    assert [(row["text"], row["concept_id"], row["preferred_name"], row["split"]) for row in rows] == [
        ("CF", "D003550", "Cystic Fibrosis", False),
        ("zebra", "NIL", None, False),
        ("breast and ovarian cancer", "D001943", "Breast Neoplasms", True),
        ("breast and ovarian cancer", "D010051", "Ovarian Neoplasms", True),
    ]
    assert rows[1]["rejected_id"]
    assert rows[1]["rejected_score"] == rows[1]["score"]
    assert rows[3]["start"] == 0


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_data_frame_without_links_has_typed_columns(library, nlp):
    pytest.importorskip(library)
    frame = spacy_sapbert.to_dataframe(nlp("nothing"), library=library)
    assert (list(frame.columns), len(frame)) == (list(COLUMNS), 0)
    assert "int64" in str(frame["start"].dtype).lower()


def test_the_mentions_are_those_of_the_linker(linking_folder):
    pytest.importorskip("pandas")
    nlp = spacy.load(linking_folder)
    nlp.get_pipe("sapbert_linker").spans_key = "mine"
    doc = nlp.make_doc("breast and ovarian cancer")
    doc.spans["mine"] = [doc[2:4], doc[:4]]
    for name in nlp.pipe_names[-1:]:
        doc = nlp.get_pipe(name)(doc)
    frame = spacy_sapbert.to_dataframe(doc, library="pandas")
    assert [(row.start, row.end) for row in frame.itertuples()] == [(0, 25), (11, 25)]
    assert len(spacy_sapbert.to_dataframe(doc, library="pandas", spans_key="none")) == 0


def test_documents_of_another_process_need_the_vocabulary(nlp, small_kb):
    pytest.importorskip("pandas")
    doc = spacy.tokens.Doc(spacy.blank("en").vocab).from_bytes(nlp("aspirin").to_bytes())
    with pytest.raises(SapbertError, match=r"\[E554\]"):
        spacy_sapbert.to_dataframe(doc, library="pandas")
    for kb in (small_kb, small_kb.path):
        assert spacy_sapbert.to_dataframe(doc, library="pandas", kb=kb)["preferred_name"].tolist() == ["Aspirin"]


def test_the_library_that_is_installed_is_taken(nlp, monkeypatch):
    def only(*installed):
        def load(name):
            if name not in installed:
                raise ImportError(name)
            return name

        monkeypatch.setattr(dataframes, "import_module", load)

    only("polars")
    assert dataframes._library(None) == ("polars", "polars")
    only("pandas", "polars")
    assert dataframes._library(None) == ("pandas", "pandas")
    assert dataframes._library("polars") == ("polars", "polars")
    only()
    for asked, named in ((None, "pandas or polars"), ("polars", "polars")):
        with pytest.raises(SapbertError, match=rf"\[E542\] .*package {named},"):
            spacy_sapbert.to_dataframe(nlp("aspirin"), library=asked)
