import pytest

from spacy_sapbert.augmentation.documents import SourceDocument
from spacy_sapbert.augmentation.exclusion import PMID, TITLE, EvaluationSets, pmid_of
from spacy_sapbert.types import Document

SETS = EvaluationSets(
    [
        Document("PMID:00123", "A novel mutation in the BRCA1 gene. We report a family with three cases."),
        Document("x1", "Case report. The patient had been treated for years with lithium."),
    ]
)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (SourceDocument("a", "Another text.", pmid="123"), PMID),
        (SourceDocument("123", "Another text."), PMID),
        (SourceDocument("a", "A NOVEL mutation in the  BRCA1 gene!", "A NOVEL mutation in the  BRCA1 gene!"), TITLE),
        (SourceDocument("a", "A novel mutation in the ( BRCA1 ) gene .\nWe report"), TITLE),
        # an abstract without the title that the set has
        (SourceDocument("a", "We report a family with three cases . More follows ."), TITLE),
        (SourceDocument("a", "Case report. Something else.", "Case report."), TITLE),
        (SourceDocument("a", "A novel mutation in the BRCA1 generally. We report"), None),
        (SourceDocument("a", "The patient. Had been treated.", "The patient."), None),
        (SourceDocument("a", "Text.", pmid="1234"), None),
    ],
)
def test_overlap_by_number_and_by_title(document, reason):
    assert SETS.overlap(document) == reason


def test_nothing_overlaps_with_nothing():
    assert EvaluationSets().overlap(SourceDocument("", "")) is None
    assert SETS.overlap(SourceDocument("", "...")) is None


@pytest.mark.parametrize(("doc_id", "pmid"), [("PMID: 012", "12"), ("12", "12"), ("PMC12", ""), ("12-3", "")])
def test_numbers_in_pubmed(doc_id, pmid):
    assert pmid_of(doc_id) == pmid
