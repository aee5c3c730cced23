"""Vocabularies as they are published, read as a whole, and compared with the counts in published.yaml."""

from pathlib import Path

import pytest
import srsly

from spacy_sapbert.kb.readers import ReadReport, read_vocabulary

PUBLISHED = srsly.read_yaml(Path(__file__).with_name("published.yaml"))


@pytest.mark.parametrize(
    "published",
    [pytest.param(each, id=each["file"], marks=[pytest.mark.slow] if each.get("slow") else []) for each in PUBLISHED],
)
def test_counts(data_dir, published):
    report, dropped = ReadReport(), published.get("dropped", {})
    options = {"strict": "no name" not in dropped, **published.get("options", {})}
    records = read_vocabulary(data_dir / "vocabularies" / published["file"], report=report, **options)
    concepts = {record.concept_id for record in records}
    assert (report.rows_read, report.rows_dropped) == (published["rows"], dropped)
    assert report.names + report.names_dropped["duplicate"] == published["names"]
    assert (report.names_dropped["empty"], len(concepts)) == (0, published["concepts"])
    assert not any(concept_id.isdecimal() for concept_id in concepts)
