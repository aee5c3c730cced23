from collections import Counter

import pytest

from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.review.corrections import Correction
from spacy_sapbert.review.export import general_decisions, name_rows, reviewed_documents

TEXT = "cold \U0001f600 flu, gout fits lump"


def correction(action, key, text, *ids, scope="occurrence", of=TEXT, label=""):
    start = of.index(text)
    return Correction(action, scope, key, start, start + len(text), text, ids, label)


@pytest.fixture
def key(file, proposed):
    key = proposed("1", TEXT, *((text, ("D1",)) for text in ("cold", "flu", "gout", "fits")))
    file.add(
        [
            correction("accept", key, "cold", "D1"),
            correction("replace", key, "flu", "D2", "D3"),
            correction("reject", key, "gout", "D1"),
            correction("add", key, "lump"),
        ]
    )
    return key


WANTED = [("cold", ("D1",)), ("flu", ("D2", "D3")), ("gout", ()), ("lump", ())]


def exported(file, **options):
    counts = Counter()
    return list(reviewed_documents(file, counts, **options)), counts


def test_decided_mentions(file, key):
    ((document,), counts) = exported(file)
    assert [(mention.text, mention.ids) for mention in document.mentions] == WANTED
    assert all(TEXT[mention.start : mention.end] == mention.text for mention in document.mentions)
    assert [mention.label for mention in document.mentions] == ["Disease"] * 3 + ["CONCEPT"]
    assert counts == {"documents": 1, "mentions": 4, "undecided mentions left out": 1}


def test_complete_documents(file, key, proposed):
    proposed("2", "nothing decided: cold", ("cold", ("D1",)))
    assert exported(file, complete=True) == (
        [],
        {"incomplete documents left out": 1, "documents without a correction": 1},
    )
    file.add([correction("no_mention", key, "fits")])
    ((document,), counts) = exported(file, complete=True)
    assert [(mention.text, mention.ids) for mention in document.mentions] == WANTED
    assert (counts["documents"], counts["documents without a correction"]) == (1, 1)


def test_a_document_without_a_mention_is_an_example_as_well(file, proposed):
    key = proposed("1", "cold", ("cold", ("D1",)))
    file.add([Correction("no_mention", "occurrence", key, 0, 4, "cold")])
    ((document,), _) = exported(file)
    assert document.mentions == ()


@pytest.mark.parametrize("name", ["c.spacy", "c.pubtator", "c.xml", "c.json", "c.xmi", "c.prodigy.jsonl"])
def test_it_is_read_again(file, key, tmp_path, name):
    from spacy_sapbert.cli.review import _write_corpus

    documents, _ = exported(file)
    _write_corpus(iter(documents), tmp_path / name)
    (found,) = read_corpus(tmp_path / name)
    assert (found.doc_id, found.text.rstrip()) == ("1", TEXT)
    assert [(mention.start, mention.end, mention.text) for mention in found.mentions] == [
        mention[:3] for mention in documents[0].mentions
    ]
    assert [mention.ids for mention in found.mentions] == [mention[1] for mention in WANTED]


def names(file):
    counts = Counter()
    _, *rows = name_rows(file, counts)
    return [(row[1], row[2]) for row in rows], counts


def said(action, text, *ids, scope="corpus", start=0):
    return Correction(action, scope, "k", start, start + len(text), text, ids)


@pytest.mark.parametrize(
    ("corrections", "reason"),
    [
        ([said("accept", "cold", "D1"), said("replace", "Cold", "D2", start=9)], "texts with different decisions"),
        ([said("accept", "cold", "D1"), said("no_mention", "cold")], "texts with different decisions"),
        (
            [said("accept", "cold", "D1"), said("reject", "cold", "D1", scope="everywhere")],
            "texts with different decisions",
        ),
        ([said("replace", "cold", "D1", "D2")], "composites"),
        ([said("reject", "cold", "D1")], "texts without a decided concept"),
        ([said("add", "cold")], "texts without a decided concept"),
        ([said("accept", "ALL", "D1", scope="occurrence")], "short forms that were not decided everywhere"),
        ([said("accept", " ALL", "D1")], "short forms that were not decided everywhere"),
    ],
)
def test_texts_that_do_not_become_names(file, corrections, reason):
    file.add(corrections)
    assert names(file) == ([], {reason: 1})


@pytest.mark.parametrize(
    ("corrections", "name"),
    [
        ([said("accept", "cold\n flu", "D1")], ("cold flu", "D1")),
        ([said("accept", "cold", "D1"), said("no_mention", "cold", scope="occurrence", start=9)], ("cold", "D1")),
        ([said("reject", "cold", "D1"), said("accept", "cold", "D1")], ("cold", "D1")),
        ([said("reject", "cold", "D2"), said("accept", "cold", "D1")], ("cold", "D1")),
        ([said("accept", "ALL", "D1", scope="everywhere")], ("ALL", "D1")),
        ([said("add", "cold", "D1"), said("add", "cold", start=9)], ("cold", "D1")),
    ],
)
def test_texts_that_become_names(file, corrections, name):
    file.add(corrections)
    assert names(file) == ([name], {"names": 1})


@pytest.mark.parametrize(
    ("corrections", "scopes"),
    [
        ([said("replace", "cold", "D1"), said("no_mention", "flu"), said("reject", "gout", "D1")], ["everywhere"] * 3),
        ([said("replace", "cold", "D1"), said("no_mention", "cold", scope="occurrence")], ["everywhere", "occurrence"]),
        ([said("accept", "cold", "D1"), said("replace", "cold", "D2")], ["everywhere"] * 2),  # the later one holds
        ([said("accept", "cold", "D1"), said("replace", "Cold", "D2")._replace(document="m")], ["corpus"] * 2),
        ([said("accept", "cold", "D1"), said("no_mention", "cold", scope="everywhere")], ["corpus", "everywhere"]),
        ([said("accept", "ALL", "D1")], ["corpus"]),
    ],
)
def test_what_holds_in_all_documents(corrections, scopes):
    general = general_decisions(corrections, {"k": ["notes"], "m": ["abstracts"]})
    assert [correction.scope for correction in general] == scopes
    assert [correction._replace(scope="") for correction in general] == [one._replace(scope="") for one in corrections]
