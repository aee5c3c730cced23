import json

import pytest
import spacy

from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.readers.known_tables import DISCOVERED_COLUMNS

CORPUS = (
    "1|t|Severe cystic fibrosis\n1|a|Severe cystic fibrosis, aspirin.\n"
    "1\t0\t22\tSevere cystic fibrosis\tDisease\t-\n1\t23\t45\tSevere cystic fibrosis\tDisease\t-\n"
    "1\t47\t54\taspirin\tChemical\t-\n\n"
    "2|t|severe Cystic Fibrosis, ovarian cancers\n2|a|An aspirins drug\n"
    "2\t0\t22\tsevere Cystic Fibrosis\tDisease\t-\n2\t24\t39\tovarian cancers\tDisease\t-\n"
    "2\t43\t56\taspirins drug\tChemical\t-\n\n"
    "neither a title nor a mention\n"
)


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.pubtator"
    path.write_text(CORPUS)
    return path


@pytest.fixture(scope="module")
def make_pipeline(small_kb, tmp_path_factory):
    """A function that saves a pipeline with a component that finds mentions, and a linker without an encoder."""

    def make(finder):
        nlp = spacy.blank("en")
        nlp.add_pipe("sentencizer")
        nlp.add_pipe(finder)
        nlp.add_pipe("sapbert_linker", config={"kb": str(small_kb.path), "encoder": "none"})
        if finder == "entity_ruler":
            nlp.get_pipe(finder).add_patterns([{"label": "Disease", "pattern": [{"LOWER": "severe"}, {}, {}]}])
        folder = tmp_path_factory.mktemp("discover") / finder
        nlp.to_disk(folder)
        return folder

    return make


@pytest.fixture(scope="module")
def pipeline(make_pipeline):
    return make_pipeline("entity_ruler")


def rows(path):
    header, *lines = path.read_text(encoding="utf8").splitlines()
    assert tuple(header.split("\t")) == DISCOVERED_COLUMNS
    return [dict(zip(DISCOVERED_COLUMNS, line.split("\t"), strict=True)) for line in lines]


def test_what_is_found_and_kept_is_a_name_of_the_next_vocabulary(command, pipeline, corpus, tmp_path, small_kb):
    table = tmp_path / "candidates.tsv"
    arguments = ("discover", pipeline, corpus, "-o", table, "--discover.similarity", 0.5, "--discover.gold")
    finished = command(*arguments)
    assert finished.status == 0, finished.err
    assert json.loads(finished.out) == {
        "documents": 2,
        "mentions": 6,
        "mentions_of_other_types": 0,
        "linked_mentions": 6,
        "known_names": 2,
        "short_forms": 0,
        "without_words": 0,
        "occurrences": 4,
        "candidates": 2,
        "broken_records": 1,
        "in_too_few_documents": 0,
        "written": 2,
    }
    found = {row["name"]: row for row in rows(table)}
    assert set(found) == {"Severe cystic fibrosis", "aspirins drug"}
    new = found["Severe cystic fibrosis"]
    assert (new["id"], new["preferred_name"], new["matched_name"]) == ("D003550", "Cystic Fibrosis", "Cystic Fibrosis")
    assert (new["occurrences"], new["documents"], new["doc_id"]) == ("3", "2", "1")
    first = table.read_bytes()
    assert command(*arguments).status == 0
    assert table.read_bytes() == first

    table.write_bytes(first.replace(b"\n\tSevere", b"\nnarrow\tSevere"))
    exported, newer = tmp_path / "small.tsv", tmp_path / "newer.kb"
    assert command("kb", "export", small_kb.path, "--format", "table", "-o", exported).status == 0
    finished = command("kb", "build", exported, table, "-o", newer)
    assert finished.status == 0, finished.err
    assert "rows dropped: not marked to be kept" in finished.err
    kb = KnowledgeBase(newer)
    assert kb.find_name("Severe cystic fibrosis") == ("D003550",)
    assert ("Severe cystic fibrosis", "narrow", "candidates", "") in kb.names_of("D003550")
    assert kb.find_name("aspirins drug") == ()
    assert (len(kb), kb.n_names) == (len(small_kb), small_kb.n_names + 1)


def test_what_is_wanted_of_what_the_pipeline_finds(command, pipeline, corpus, tmp_path):
    table = tmp_path / "candidates.tsv"
    settings = ("--discover.similarity", 0.5, "--discover.types", "Disease", "--discover.min_documents", 2)
    found = json.loads(command("discover", pipeline, corpus, "-o", table, *settings).out)
    assert (found["mentions"], found["candidates"], found["written"]) == (3, 1, 1)
    assert [row["id"] for row in rows(table)] == ["D003550"]
    (tmp_path / "d.cfg").write_text(
        '[discover]\ntypes = ["Chemical"]\nmin_documents = 2\nsimilarity = 0.5\ngold = true\n'
    )
    found = json.loads(command("discover", pipeline, corpus, "-o", table, "-c", tmp_path / "d.cfg").out)
    assert (found["mentions_of_other_types"], found["candidates"], found["in_too_few_documents"]) == (4, 1, 1)
    assert rows(table) == []
