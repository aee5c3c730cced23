import pytest

from spacy_sapbert.kb.build import new_knowledge_base
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.mentions import add_mentions, add_training_mentions
from spacy_sapbert.types import Document, Mention, Name


def document(text, *mentions):
    """A document whose mentions are given as (text, ids) or (text, ids, parts)."""
    found = []
    for surface, ids, *parts in mentions:
        start = text.index(surface)
        ids = tuple(ids.split("|")) if ids else ()
        found.append(Mention(start, start + len(surface), surface, "Disease", ids, *(map(tuple, parts))))
    return Document("1", text, tuple(found))


@pytest.fixture
def added(small_vocabulary, tmp_path):
    """A function that adds mentions to the small vocabulary: the new names by id, and what was counted."""

    def add(*documents):
        with new_knowledge_base(tmp_path / "a.kb") as builder:
            for record in small_vocabulary:
                builder.add(record)
            add_mentions(builder, documents, "corpus")
            builder.finish({})
        kb = KnowledgeBase(tmp_path / "a.kb")
        names = {
            concept_id: [name.text for name in kb.names_of(concept_id) if name.source == "corpus"]
            for concept_id in kb.concept_ids()
        }
        return {concept_id: texts for concept_id, texts in names.items() if texts}, dict(builder.counts)

    return add


def test_mentions_become_names_of_their_concepts(added):
    text = "Mammary  carcinoma, breast\ncancer, flu and nothing."
    names, counts = added(
        document(text, ("Mammary  carcinoma", "OMIM:114480"), ("breast\ncancer", "D001943"), ("nothing", "")),
        document(text, ("flu", "D007251"), ("breast\ncancer", "D001943")),
    )
    assert names == {"D001943": ["breast cancer", "Mammary carcinoma"]}
    assert counts == {"mentions added": 3, "mentions whose id is not in the vocabulary": 1, "mentions without an id": 1}


def test_new_names_tell_their_scope_and_count(added, tmp_path):
    mention = document("pox", ("pox", "D003139"))
    added(mention, mention)
    kb = KnowledgeBase(tmp_path / "a.kb")
    assert kb.names_of("D003139")[-1] == Name("pox", "mention", "corpus")
    assert kb.name_concepts.annotations.max() == 2


BC, OC, CF = "D001943", "D010051", "D003550"


@pytest.mark.parametrize(
    ("text", "mention", "names"),
    [
        ("Familial BC. Breast carcinoma (BC).", ("Familial BC", BC), {BC: ["Familial Breast carcinoma"]}),
        ("lobular and mucinous growths", (BC, OC), {BC: ["lobular growths"], OC: ["mucinous growths"]}),
        # the parts that the corpus gives take precedence over those of the text
        ("lobules and mucus", (BC, OC, "lobules that grow", "mucus"), {BC: ["lobules that grow"], OC: ["mucus"]}),
        (
            "CF and ovarian tumours. Cystic fibrosis (CF).",
            ("CF and ovarian tumours", f"{CF}|{OC}"),
            {CF: ["Cystic fibrosis"], OC: ["ovarian tumours"]},
        ),
        # the number of parts is not that of the ids
        ("breast-ovarian cancer", (BC, OC), {BC: ["breast-ovarian cancer"], OC: ["breast-ovarian cancer"]}),
        ("nose and throat cold", ("nose and throat cold", "D003139"), {"D003139": ["nose and throat cold"]}),
        # ids in another order than the parts: names of the vocabulary decide, in their normal form
        (
            "gastric and colorectal cancer",
            ("D015179", "D013274"),
            {"D015179": ["colorectal cancer"], "D013274": ["gastric cancer"]},
        ),
        ("both", ("D001241", CF, "cystic-fibrosis", "ASPIRIN"), {CF: ["cystic-fibrosis"], "D001241": ["ASPIRIN"]}),
    ],
)
def test_names_of_a_mention(added, text, mention, names):
    if mention[0] not in text:  # ids of the whole text, and its parts
        mention = text, "|".join(mention[:2]), *([mention[2:]] if mention[2:] else [])
    assert added(document(text, mention))[0] == names


def test_an_abbreviation_is_that_of_its_document(added):
    names, _ = added(
        document("Breast carcinoma (BC). BC.", ("Breast carcinoma", "D001943")), document("BC", ("BC", "D001943"))
    )
    assert names == {"D001943": ["Breast carcinoma", "BC"]}


def test_one_part_that_is_a_name_decides_for_the_other(added):
    text = "Gastric and mucinous cancer; lobular or BREAST cancer"
    names, _ = added(
        document(text, ("Gastric and mucinous cancer", "D010051|D013274")),
        document(text, ("lobular or BREAST cancer", "OMIM:114480|D015179")),
    )
    assert names == {
        "D013274": ["Gastric cancer"],
        "D010051": ["mucinous cancer"],
        "D001943": ["BREAST cancer"],
        "D015179": ["lobular cancer"],
    }


def test_ids_stay_in_order_where_both_orders_fit(added):
    """ "cold" and "Seizures" are names of two concepts each."""
    names, _ = added(
        document("cold and cold seizures", ("cold and cold seizures", "D003139|D003080", ("cold", "cold ")))
    )
    assert names == {"D003139": ["cold"], "D003080": ["cold"]}
    names, _ = added(document("a or b", ("a or b", "D012640|HP:0001250", ("seizures", "SEIZURES!"))))
    assert names == {"D012640": ["seizures"], "HP:0001250": ["SEIZURES!"]}


def test_names_of_corpora_that_were_added_before_count(small_vocabulary, tmp_path):
    text = "lobular growth, mucinous and lobular growth"
    with new_knowledge_base(tmp_path / "a.kb") as builder:
        for record in small_vocabulary:
            builder.add(record)
        add_mentions(builder, [document(text, ("lobular growth", "D001943"))], "first")
        add_mentions(builder, [document(text, ("mucinous and lobular growth", "D001943|D010051"))], "second")
        assert builder.names_of("D010051")[-1] == "mucinous growth"
        assert "mucinous growth" not in builder.names_of("D001943")
        builder.finish({})


def test_more_than_four_ids_stay_in_order(added):
    parts = ("ovarian cancer", "breast cancer", "CF", "ALL", "ALS")
    ids = "D001943|D010051|D003550|D054198|D000690"
    names, _ = added(document("five things", ("five things", ids, parts)))
    assert names["D001943"] == ["ovarian cancer"]
    names, _ = added(document("four things", ("four things", ids.rpartition("|")[0], parts[:4])))
    assert names["D001943"] == ["breast cancer"]


def with_mentions(vocabulary, path, *batches):
    """Build a knowledge base with the mentions of several corpora at once, and return it."""
    with new_knowledge_base(path) as builder:
        for record in vocabulary:
            builder.add(record)
        for source, documents in batches:
            add_mentions(builder, documents, source)
        builder.finish({"licence": "MIT"})
    return KnowledgeBase(path)


FIRST = ("first", [document("cancer of the breast, breast cancer", ("cancer of the breast", "D001943"))] * 2)
SECOND = (
    "second",
    [document("breast cancer and mammary tumour", ("breast cancer", "D001943"), ("mammary tumour", "OMIM:114480"))],
)


def test_joining_is_like_building_with_the_mentions_at_once(small_vocabulary, small_kb, tmp_path):
    joined = add_training_mentions(small_kb, FIRST[1], "first", tmp_path / "joined.kb")
    assert joined.fingerprint == with_mentions(small_vocabulary, tmp_path / "built.kb", FIRST).fingerprint
    again = add_training_mentions(joined, SECOND[1], "second", tmp_path / "again.kb")
    assert again.fingerprint == with_mentions(small_vocabulary, tmp_path / "both.kb", FIRST, SECOND).fingerprint
    without = add_training_mentions(again, [], "third", tmp_path / "without.kb", without=SECOND[1])
    assert without.fingerprint == joined.fingerprint


def test_a_joined_knowledge_base_says_so(small_kb, tmp_path):
    joined = add_training_mentions(small_kb, FIRST[1], "first", tmp_path / "joined.kb")
    assert joined.meta["mentions"] == {"mentions added": 2}
    assert joined.meta["licence"] == small_kb.meta["licence"]
    assert joined.n_names == small_kb.n_names + 1
    assert (len(joined), joined.source_counts()["first"]) == (len(small_kb), 1)


def test_names_that_only_a_corpus_has(small_kb, tmp_path):
    assert small_kb.annotated_only() == []
    joined = add_training_mentions(small_kb, SECOND[1], "second", tmp_path / "joined.kb")
    assert [joined.name(row) for row in joined.annotated_only()] == ["mammary tumour"]


def test_new_ids_become_concepts(small_kb, tmp_path):
    text = "Grippe, grippe, the grippe, cold"
    found = [(surface, "N1") for surface in ("Grippe", "grippe", "grippe", "the grippe")]
    documents = [document(text, *found, ("cold", "N2"), ("cold", "D003139"))]
    kb = add_training_mentions(small_kb, documents, "training", tmp_path / "new.kb", new_ids=["N1", "D003139", "N9"])
    assert len(kb) == len(small_kb) + 1
    assert kb.find_name("the grippe") == ("N1",)
    assert (kb.find_id("N2"), kb.find_id("N9")) == ((), ())  # neither was wanted and annotated
    summary = kb.summaries_of(["N1"])["N1"]
    assert (summary.preferred, summary.annotations) == ("grippe", 4)
    assert kb.annotated_only() != []


def test_new_concepts_stay_when_mentions_are_added_again(small_kb, tmp_path):
    documents = [document("grippe", ("grippe", "N1"))]
    kb = add_training_mentions(small_kb, documents, "training", tmp_path / "new.kb", new_ids=["N1"])
    again = add_training_mentions(kb, documents, "training", tmp_path / "again.kb")
    assert list(again.concept_ids()) == list(kb.concept_ids())
    assert again.summaries_of(["N1"])["N1"].annotations == 2


def test_names_and_order_of_new_concepts(small_kb, tmp_path):
    text = "Acute liver failure (ALF), breast and ovarian pox"
    found = [("breast and ovarian pox", "N2|N1"), ("ALF", "N4"), ("Acute liver failure", "N4|N3")]
    kb = add_training_mentions(
        small_kb, [document(text, *found)], "training", tmp_path / "new.kb", new_ids=["N1", "N2", "N3", "N4"]
    )
    assert list(kb.concept_ids())[len(small_kb) :] == ["N2", "N1", "N4", "N3"]  # as annotated
    assert [kb.find_name(name) for name in ("breast pox", "ovarian pox", "ALF")] == [("N2",), ("N1",), ()]
    assert kb.summaries_of(["N4"])["N4"].preferred == "Acute liver failure"


@pytest.mark.parametrize(("types", "expected"), [((), "Disease"), (("X", "Disease"), "Disease"), (("X",), "X")])
def test_types_of_new_concepts(small_kb, tmp_path, types, expected):
    documents = [document("grippe", ("grippe", "N1"))]
    kb = add_training_mentions(small_kb, documents, "t", tmp_path / "new.kb", new_ids=["N1"], new_types=types)
    assert kb.summaries_of(["N1"])["N1"].types == (expected,)
