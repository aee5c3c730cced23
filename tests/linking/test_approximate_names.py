import time

import pytest

from spacy_sapbert.encoders.ngrams import TEXT_NORMALIZER
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.filters import Filter, filter_mask
from spacy_sapbert.kb.stop_names import StopNameRules
from spacy_sapbert.linking.approximate_names import ApproximateNames, similarity
from spacy_sapbert.linking.name_matcher import NameMatcher
from spacy_sapbert.text.languages import ENGLISH
from spacy_sapbert.types import Name, Record
from spacy_sapbert.vectors.ngram_index import cached_ngram_index

VOCABULARY = {
    "D1": ("Disease", "chronic kidney disease", "CKD"),
    "D2": ("Disease", "kidney disease", "nephropathy"),
    "D3": ("Disease", "acute myocardial infarction"),
    "D4": ("Disease", "myocardial infarction", "MI"),
    "D5": ("Disease", "type 1 diabetes mellitus"),
    "D6": ("Disease", "type 2 diabetes mellitus"),
    "D7": ("Disease", "diabetes mellitus", "DM"),
    "D8": ("Disease", "Tay-Sachs disease"),
    "D9": ("Disease", "hypertension"),
    "D10": ("Disease", "hepatitis"),
    "D11": ("Disease", "G6PD deficiency"),
    "D12": ("Disease", "stricture"),
    "D13": ("Disease", "breast cancer"),
    "D14": ("Disease", "impotence"),
    "D15": ("Disease", "asthma"),
    "C1": ("Chemical", "phenylbutazone"),
    "C2": ("Chemical", "asthmatol"),
}


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    folder = tmp_path_factory.mktemp("approximate")
    records = [
        Record(concept_id, tuple(Name(name, "exact", "test") for name in names), types=(type,))
        for concept_id, (type, *names) in VOCABULARY.items()
    ]
    kb = build_knowledge_base(records, folder / "names.kb", stop_names=StopNameRules(added=frozenset(["asthma"])))
    return ApproximateNames(NameMatcher.build(kb), cached_ngram_index(kb, TEXT_NORMALIZER))


def found(names, text, least=0.4, mask=None):
    exact = [(start, end) for start, end, _ in NameMatcher.build(names.kb).find(text)]
    return [(text[start:end], names.kb.name(row)) for start, end, row in names.find(text, exact, least, mask)]


@pytest.mark.parametrize(
    ("text", "span", "name"),
    [
        ("He had hypertesion.", "hypertesion", "hypertension"),
        ("HYPERTESION WAS SEEN", "HYPERTESION", "hypertension"),
        ("a chronic severe kidney disease", "chronic severe kidney disease", "chronic kidney disease"),
        ("chronic kidny disease", "chronic kidny disease", "chronic kidney disease"),
        ("disease, chronic; kindey disease", "kindey disease", "kidney disease"),
        ("type 2 diabetis mellitus", "type 2 diabetis mellitus", "type 2 diabetes mellitus"),
        ("G6PD-deficient mice", "G6PD-deficient", "G6PD deficiency"),
        ("the Tay-Sachs gene", "Tay-Sachs", "Tay-Sachs disease"),
        ("infarction of the acute myocardal kind", "infarction of the acute myocardal", "acute myocardial infarction"),
        ("given phenylbutasone", "phenylbutasone", "phenylbutazone"),
    ],
)
def test_other_ways_to_write_a_name(names, text, span, name):
    assert found(names, text) == [(span, name)]


@pytest.mark.parametrize(
    "text",
    [
        "hypotension",  # another word
        "hepatic and hepatocytes",  # another ending of a name of one word
        "the structure was of importance",  # words of general English
        "chronic and severe kidny",  # no match crosses "and"
        "breast or cancr, breast/cancr, breast, cancr",
        "asthmas, asthmma",  # a stop name
        "MII and DMM",  # short forms have no misspellings
        "diabetes without mellitis",
        "",
        "()",
    ],
)
def test_what_is_no_name(names, text):
    assert found(names, text) == []


def test_exact_matches_take_precedence(names):
    assert found(names, "kidney disease and breast cancer") == []
    # the span would begin or end inside an exact match
    assert found(names, "chronical chronic kidney disease mellits") == []


def test_an_exact_match_inside_keeps_all_its_words(names):
    assert similarity("chronic breast kidney disease", "chronic kidney disease", ENGLISH) > 0.5
    assert found(names, "chronic breast cancer disease") == []


def test_the_bound(names):
    span = "chronic severe kidney disease"
    score = similarity(span, "chronic kidney disease", ENGLISH)
    assert 0.5 < score < 0.9
    assert len(found(names, span, score - 0.01)) == 1
    assert found(names, span, score + 0.01) == []


def test_numbers_and_letters_are_the_same():
    assert similarity("type 2 diabetis mellitus", "type 2 diabetes mellitus", ENGLISH) > 0.5
    assert similarity("type 1 diabetes mellitus", "type 2 diabetes mellitus", ENGLISH) == 0
    assert similarity("type 2 diabetis mellitus", "diabetes mellitus, type 2", ENGLISH) == 0


def test_similarity_ignores_order_and_function_words():
    assert similarity("infarction of the heart", "heart infarction", ENGLISH) == 1
    assert similarity("infarction to heart", "heart infarction", ENGLISH) == 0
    assert similarity("vitamin in B", "B vitamin", ENGLISH) == 0


def test_a_filter(names):
    text = "phenylbutasone, hypertesion"
    chemicals = filter_mask(names.kb, Filter(types=("Chemical",)))
    assert found(names, text, mask=chemicals) == [("phenylbutasone", "phenylbutazone")]


# --- short forms inside a longer name


def written_out(names, text):
    return [(text[start:end], names.kb.name(row)) for start, end, row in names.find_written_out(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He has type 2 DM now", [("type 2 DM", "type 2 diabetes mellitus")]),
        ("(type 2 DM)", [("type 2 DM", "type 2 diabetes mellitus")]),
        ("an acute MI, then DM", [("acute MI", "acute myocardial infarction")]),
        ("MI was acute", []),
        ("type 3 DM", []),
        ("acute and MI", []),
        ("CKD", []),
    ],
)
def test_short_forms_of_the_vocabulary(names, text, expected):
    assert written_out(names, text) == expected


# --- size


@pytest.mark.parametrize(
    "piece", ["a", "a ", "(", "x-", "hypertesion ", "qwert kidny disease ", "breast cancer ", "MI ", "K1dn3y d|seas3 "]
)
def test_time_grows_with_the_length(names, piece):
    """A search that grew with the square of the length would take minutes."""
    text = piece * (100_000 // len(piece))
    matcher = NameMatcher.build(names.kb)
    exact = matcher.find(text)
    start = time.process_time()
    matches = names.find(text, [match[:2] for match in exact], 0.5)
    names.find_written_out(text)
    assert time.process_time() - start < 30
    assert len(matches) == (text.count("hypertesion") or text.count("kidny disease"))
