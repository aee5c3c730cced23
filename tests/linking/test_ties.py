from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.kb.build import new_knowledge_base
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.linking.ties import (
    LONGER,
    RULES,
    TieBreaker,
    TieEvidence,
    explain,
    longer_forms,
    names_in,
    rank,
    tied,
)
from spacy_sapbert.text.languages import ENGLISH
from spacy_sapbert.types import Candidate, Grade, LinkedPart, Name, Record

PREFERRED, TYPE = {"preferred": True}, {"type": True}


# --- the order of the rules


@pytest.mark.parametrize(
    ("stronger", "weaker"),
    [
        ({"annotations": 2}, {"annotations": 1, **PREFERRED, **TYPE}),
        (TYPE, PREFERRED),
        ({"named": True}, PREFERRED),
        ({**TYPE, "main": False}, {"names": 9}),
        ({}, {"main": False, "names": 9}),
        ({"names": 3}, {"names": 2}),
    ],
)
def test_the_earlier_rule_decides(stronger, weaker):
    best, other = TieEvidence("Z", **stronger), TieEvidence("A", **weaker)
    assert rank([other, best]) == [best, other]


evidence = st.lists(
    st.builds(TieEvidence, st.text("ABC", min_size=1), st.integers(0, 2), *[st.booleans()] * 5, st.integers(1, 3)),
    unique_by=lambda entry: entry.concept_id,
    min_size=2,
    max_size=5,
)


@given(evidence, st.randoms())
def test_the_order_in_which_claims_come_does_not_count(some, random):
    shuffled = random.sample(some, len(some))
    assert rank(shuffled) == rank(some)
    assert set(rank(some)) == set(some)


@given(evidence)
def test_nothing_speaks_more_for_another_by_the_rule_that_decided(some):
    best, *others = rank(some)
    for other in others:
        differs = [rule for rule in RULES if getattr(best, rule) != getattr(other, rule)]
        if differs:
            assert getattr(best, differs[0]) > getattr(other, differs[0])
        else:
            assert best.concept_id < other.concept_id


# --- the explanation


@pytest.mark.parametrize(
    ("best", "reason"),
    [
        (TieEvidence("Z", 1200), "annotators mean it most often by this name (1,200)"),
        (TieEvidence("Z", case=True), "it has this name in the case of the text"),
        (TieEvidence("Z", **PREFERRED), "this is its preferred name"),
        (TieEvidence("Z", **TYPE), "its type fits the label"),
        (TieEvidence("Z", named=True), "the document has another name of it"),
        (TieEvidence("Z", names=12), "it has more names (12)"),
    ],
)
def test_the_reason_is_what_decided(best, reason):
    assert explain(rank([TieEvidence("A"), best])) == f"same score as A; chosen because {reason}"


def test_the_reason_is_what_the_runner_up_lacks():
    evidence = rank([TieEvidence("A", 3, **TYPE), TieEvidence("B", 3), TieEvidence("C", 1)])
    assert explain(evidence) == "same score as B, C; chosen because its type fits the label"


def test_where_nothing_differs_the_id_is_the_reason_and_many_rivals_are_counted():
    expected = "same score as B, C, D and 2 more; chosen because its id comes first"
    assert explain([TieEvidence(name, 2) for name in "ABCDEF"]) == expected


# --- the mentions of documents


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    """A, B and C own "x", which is nobody's preferred name; A and D own "y", which is D's; B is annotated as "z".

    C000001, a supplementary record, and D000001 and D000002 own "v".
    """
    path = tmp_path_factory.mktemp("homonyms") / "a.kb"
    with new_knowledge_base(path) as builder:
        for concept_id, names, types in (
            ("A", "a|x|y|z", "Disease"),
            ("B", "b|x|z|b2", "Drug"),
            ("C", "c|x|c2|c3", "Disease|Symptom"),
            ("D", "y", "Symptom"),
            ("C000001", "v0|v|v5|v6", "Rare"),
            ("D000001", "v1|v", "Rare"),
            ("D000002", "v2|v|v4", "Rare"),
        ):
            texts = names.split("|")
            records = tuple(Name(text, "exact" if i else "preferred", "s") for i, text in enumerate(texts))
            builder.add(Record(concept_id, records, types=tuple(types.split("|"))))
        builder.add_mention("B", Name("z", "mention", "corpus"))
        builder.finish({})
    return KnowledgeBase(path)


def part(name, ids, score=1.0, others=()):
    return LinkedPart(name, None, tuple(Candidate(concept_id, score, name) for concept_id in ids) + tuple(others))


def decide(kb, *mentions, labels=None, label_types=None):
    breaker = TieBreaker(kb, label_types or {})
    return breaker.break_ties([(mention,) for mention in mentions], labels or [""] * len(mentions))


def first_ids(decided):
    return [parts[0].candidates[0].concept_id for parts in decided]


def test_only_ties_are_touched(kb):
    untied = part("a", "A", others=[Candidate("B", 0.9, "b"), Candidate("C", 0.9, "c")])
    nothing = LinkedPart("?", None, ())
    assert decide(kb, untied, nothing) == [(untied,), (nothing,)]
    assert decide(kb) == []


def test_scores_and_candidates_stay(kb):
    rest = (Candidate("D", 0.7, "y"), Candidate("X", 0.7, "q"))
    tied = part("z", "AB", others=rest)
    ((decided,),) = decide(kb, tied)
    assert decided.candidates == (tied.candidates[1], tied.candidates[0], *rest)
    assert (decided.text, decided.long_form) == ("z", None)
    assert decided.tie == "same score as A; chosen because annotators mean it most often by this name (1)"


@pytest.mark.parametrize(
    ("name", "ids", "first", "reason"),
    [
        ("y", ("A", "D"), "D", "this is its preferred name"),
        ("v", ("C000001", "D000001"), "D000001", "it is a main descriptor, not a supplementary record"),
        ("v", ("D000001", "D000002"), "D000002", "it has more names (3)"),
    ],
)
def test_preferred_name_kind_of_record_and_number_of_names(kb, name, ids, first, reason):
    for order in permutations(ids):
        ((decided,),) = decide(kb, part(name, order))
        assert decided.candidates[0].concept_id == first
        assert decided.tie.endswith(f"chosen because {reason}")


@pytest.mark.parametrize(
    ("label", "label_types", "expected"),
    [
        ("", {}, "A"),
        ("DRUG", {}, "B"),
        ("Symptom", {}, "C"),
        ("GENE", {}, "A"),
        ("GENE", {"GENE": ["Gene", "Symptom"]}, "C"),
        ("Drug", {"Drug": ["Symptom"]}, "C"),
        ("Drug", {"Drug": []}, "A"),
    ],
)
def test_types_that_go_with_the_label(kb, label, label_types, expected):
    assert first_ids(decide(kb, part("x", "ABC"), labels=[label], label_types=label_types)) == [expected]


@pytest.mark.parametrize("ids", list(permutations("ABC")))
def test_the_order_of_the_candidates_does_not_count(kb, ids):
    assert decide(kb, part("x", ids)) == decide(kb, part("x", "ABC"))


@given(st.lists(st.sampled_from(["xABC", "yAD", "zAB", "bB", "cC"]), max_size=6))
def test_deciding_again_changes_nothing(kb, drawn):
    once = decide(kb, *(part(letters[0], letters[1:]) for letters in drawn))
    assert TieBreaker(kb).break_ties(once, [""] * len(once)) == once


def test_another_name_in_the_document(kb):
    exact = [part(name, ids)._replace(candidates=(Candidate(ids, 1.0, name, grade=Grade.SAME),)) for name, ids in NAMES]
    for mentions, expected in (
        (exact[:1], "A"),  # its own text says nothing new
        (exact[1:], "C"),
        ([part("z", "AC")], "A"),  # a tie names none
    ):
        named = names_in([(mention,) for mention in mentions])
        ((decided,),) = TieBreaker(kb).break_ties([(part("X", "ABC", 0.99),)], [""], named)
        assert decided.candidates[0].concept_id == expected
    assert decided.tie.startswith("same score as B, C")


NAMES = (("x", "C"), ("c2", "C"))


def test_what_the_document_says_makes_a_concept_no_less_likely(kb):
    likely = part("x", "AC")
    likely = likely._replace(candidates=(likely.candidates[0]._replace(probability=0.9), likely.candidates[1]))
    ((decided,),) = TieBreaker(kb).break_ties([(likely,)], [""], {"C": ["c2"]})
    assert [(each.concept_id, each.probability) for each in decided.candidates] == [("C", 0.9), ("A", 0.9)]
    assert decided.tie == "same score as A; chosen because the document has another name of it"


def similar(text, *pairs, **fields):
    return LinkedPart(text, None, tuple(Candidate(id, score, id, **fields) for id, score in pairs))


def test_a_text_takes_the_concept_of_which_it_is_a_shorter_form():
    text = similar("Drosophila", ("SIMULANS", 0.9), ("MELANOGASTER", 0.8))
    named = {"MELANOGASTER": ["drosophila melanogaster", "fruit fly"]}
    ((chosen,),) = longer_forms([(text,)], named, ENGLISH)
    assert [(each.concept_id, each.probability) for each in chosen.candidates] == [
        ("MELANOGASTER", LONGER),
        ("SIMULANS", None),
    ]
    assert chosen.reasons == ("it is short for “drosophila melanogaster”, which the document has",)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (
            similar("Drosophila", ("SIMULANS", 0.9), ("MELANOGASTER", 0.8)),
            {"MELANOGASTER": ["fruit fly", "drosophila"]},
        ),
        (similar("the", ("SIMULANS", 0.9)), {"SIMULANS": ["the drosophila"]}),
        (similar("Drosophila", ("SIMULANS", 1.0), grade=Grade.SAME), {"SIMULANS": ["drosophila simulans"]}),
        (similar("Drosophila", ("SIMULANS", 0.9)), {"OTHER": ["drosophila simulans"]}),
        (similar("Drosophila"), {"OTHER": ["drosophila simulans"]}),
    ],
)
def test_other_texts_are_no_shorter_forms(text, named):
    assert longer_forms([(text,)], named, ENGLISH) == [(text,)]


def test_tied():
    parts = [part("x", ids, others=[Candidate("Q", 0.9, "q")]) for ids in ("A", "AB", "ABC")]
    assert [len(tied(each)) for each in parts] == [0, 2, 3]
    assert tied(LinkedPart("x", None, ())) == ()


def test_a_label_for_each_mention(kb):
    with pytest.raises(ValueError, match="zip"):
        decide(kb, part("x", "AB"), labels=["a", "b"])


def test_what_the_prior_has_decided_is_reported(kb):
    def weighed(*given):
        return LinkedPart("text", None, tuple(Candidate(*values[:2], "text", *values[2:]) for values in given))

    a, b = ("A:1", 0.9, 0.8, 0.5, 0.7), ("A:2", 0.8, 0.8, 0.5, 0.0)
    ((decided,),) = decide(kb, weighed(a, b))
    assert decided.tie == "its name is as similar as that of A:2; chosen because annotated more often"
    less_like = ("A:2", 0.8, 0.7, 0.5, 0.0)
    without_prior = [(*values[:4], None) for values in (a, b)]
    for part in (weighed(a, less_like), weighed(*without_prior), weighed(a), weighed()):
        assert decide(kb, part) == [(part,)]
