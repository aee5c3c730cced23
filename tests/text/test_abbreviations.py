from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.documents.pubtator import read_med1250
from spacy_sapbert.evaluation.components import evaluate_abbreviations
from spacy_sapbert.text import abbreviations
from spacy_sapbert.text.abbreviations import (
    MAX_CHARS,
    MOST_TEXTS,
    AbbreviationOccurrence,
    Definition,
    appositions,
    expand,
    find_definitions,
    find_occurrences,
    likely_long_forms,
)
from spacy_sapbert.text.languages import rules_of

from ..cases import cases


def pairs(text: str, **settings: float) -> "list[tuple[str, str]]":
    return [(definition.short, definition.long) for definition in find_definitions(text, **settings)]


def composite_splits(text: str, **settings: object) -> "list[tuple[str, str]]":
    occurrences = find_occurrences(text, find_definitions(text), **settings)
    return [(text[occurrence.start : occurrence.end], occurrence.long) for occurrence in occurrences]


def expanded(text: str, mention: str, **known: str) -> str:
    start = text.rindex(mention)
    return expand(text, start, start + len(mention), find_occurrences(text, find_definitions(text), known))


# --- definitions


@pytest.mark.parametrize(*cases(__file__, "forms_of_a_definition"))
def test_forms_of_a_definition(text, short, long):
    (definition,) = find_definitions(text)
    assert definition[:2] == (short, long)
    assert text[definition.short_start : definition.short_end] == short
    assert text[definition.long_start : definition.long_end] == long


@pytest.mark.parametrize(*cases(__file__, "no_definition"))
def test_no_definition(text):
    assert pairs(text) == []


def test_definitions_are_in_order_and_keep_repetitions():
    text = "Cystic fibrosis (CF) and AIDS (acquired immune deficiency syndrome). Again, cardiac failure (CF)."
    assert [definition.short for definition in find_definitions(text)] == ["CF", "AIDS", "CF"]


def test_least_precision():
    text = "The M protein-positive (M+) strain."
    assert pairs(text) == []
    assert pairs(text, min_precision=0.6) == [("M+", "M protein-positive")]


def test_as_good_as_ab3p_on_the_development_records(data_dir):
    records = list(read_med1250(data_dir / "corpora" / "med1250" / "MED1250_labeled_dev.txt"))
    scores = evaluate_abbreviations(records)
    assert scores["f1"] >= 90.4
    assert scores["p"] >= 98.1


TEXTS = st.text("aabbcABC12s ()[],;.-/\n", max_size=80)


@given(TEXTS, st.floats(0, 1))
def test_definitions_stand_where_they_say(text, min_precision):
    definitions = find_definitions(text, min_precision=min_precision)
    assert definitions == sorted(definitions, key=lambda definition: definition.short_start)
    assert find_definitions(text, min_precision=min_precision) == definitions
    for definition in definitions:
        assert 0 <= definition.short_start < definition.short_end <= len(text)
        assert 0 <= definition.long_start < definition.long_end <= len(text)
        assert text[definition.short_start : definition.short_end] == definition.short
        assert text[definition.long_start : definition.long_end] == definition.long
        assert all(definition.long.count(pair[0]) == definition.long.count(pair[1]) for pair in ("()", "[]"))
        assert min_precision <= definition.precision <= 1
        assert definition.long_end <= definition.short_start or definition.short_end <= definition.long_start


@given(st.text(max_size=60))
def test_any_characters_come_through_unharmed(text):
    text = f"cystic fibrosis (CF) {text} (CF) {text}"
    definitions = find_definitions(text, min_precision=0)
    assert all(text[definition.short_start : definition.short_end] == definition.short for definition in definitions)
    assert all(text[definition.long_start : definition.long_end] == definition.long for definition in definitions)
    occurrences = find_occurrences(text, definitions)
    assert expand(text, 0, len(text), occurrences) == expand(text, 0, len(text), find_occurrences(text, definitions))


@given(st.text(st.characters(categories=["L"], max_codepoint=0x10FF), max_size=60))
def test_nothing_is_defined_without_brackets(text):
    assert find_definitions(f"cystic fibrosis CF {text}", min_precision=0) == []


# --- uses


def test_a_second_bracket_has_the_same_long_form():
    both = [("GFR", "growth factor receptor"), ("GF-R", "growth factor receptor")]
    assert pairs("A growth factor receptor (GFR) [GF-R] is.") == both


@pytest.mark.parametrize("words", ["a high-grade GFR", "unloaded GFR", "estimated from FF and GFR", "cells with GFR"])
def test_words_of_a_bracket_that_announce_no_form(words):
    assert pairs(f"The growth factor receptor ({words}) is.") == []


def test_words_far_before_a_bracket_are_no_long_form():
    assert pairs("A reduced risk of death from the primary tumor (RR, 0.3) is.") == []


def test_long_form_begins_after_the_bracket_before():
    assert pairs("A thrombosis (TH)-pulmonary embolism (PE).") == [("TH", "thrombosis"), ("PE", "pulmonary embolism")]


@pytest.mark.parametrize("form", ["IL-6", "IL6", "IL\u20116", "IL\u20136"])
def test_tail_after_the_bracket_belongs_to_the_form(form):
    assert composite_splits(f"Interleukin (IL)-6. Low {form}.")[1:] == [(form, "Interleukin-6")]


@pytest.mark.parametrize("form", ["RT-PCR", "RT\u2010PCR", "RT\u2013PCR", "RTPCR"])
@pytest.mark.parametrize("defined", ["RT-PCR", "RT\u2013PCR"])
def test_dashes_of_a_use_do_not_count(defined, form):
    text = f"Reverse transcription polymerase chain reaction ({defined}). By {form}."
    assert composite_splits(text)[1:] == [(form, "Reverse transcription polymerase chain reaction")]
    assert composite_splits("Ischemia-reperfusion (I-R) and IR.")[1:] == []


def test_uses_are_words_of_their_own_with_their_case():
    text = "Cystic fibrosis (CF). CF-related, CFTR, CF, cf, aCF and CF1; CF's."
    occurrences = find_occurrences(text, find_definitions(text))
    assert [occurrence.start for occurrence in occurrences] == [17, 22, 40, text.index("CF's")]
    assert {occurrence[2:5] for occurrence in occurrences} == {("Cystic fibrosis", 0, 15)}


def test_plurals_have_the_long_form_of_the_definition():
    text = "A proton pump inhibitor (PPI) and toll-like receptors (TLRs). PPIs and a TLR, but Cods of (cod)."
    long = {"PPI": "proton pump inhibitor", "TLRs": "toll-like receptors"}
    assert composite_splits(text) == [
        ("PPI", long["PPI"]), ("TLRs", long["TLRs"]), ("PPIs", long["PPI"]), ("TLR", long["TLRs"]),
    ]  # fmt: skip


def test_short_form_defined_twice_has_the_nearest_definition_before():
    text = "CF is here. Cystic fibrosis (CF). CF too. Cardiac failure (CF). CF last."
    first, second = "Cystic fibrosis", "Cardiac failure"
    assert [long for _, long in composite_splits(text)] == [first, first, first, second, second]


def test_letter_in_a_compound_is_not_a_use():
    text = "Serum testosterone (T) and T-cells, and low T."
    assert composite_splits(text) == [("T", "testosterone"), ("T", "testosterone")]


def test_short_forms_that_share_a_coordination():
    text = "Boys with Duchenne or Becker muscular dystrophy (DMD and BMD). DMD is not BMD."
    first, second = find_definitions(text)
    assert (first.short, first.long, first.long_start, first.long_end) == (
        "DMD", "Duchenne muscular dystrophy", None, None,
    )  # fmt: skip
    assert (second.short, second.long) == ("BMD", "Becker muscular dystrophy")
    assert text[first.short_start : first.short_end] == "DMD"
    assert text[second.long_start : second.long_end] == second.long
    occurrences = find_occurrences(text, [first, second])
    assert [(text[occurrence.start : occurrence.end], occurrence.long) for occurrence in occurrences[2:]] == [
        ("DMD", first.long),
        ("BMD", second.long),
    ]
    assert expand(text, 63, 66, occurrences) == "Duchenne muscular dystrophy"


def test_longest_use_goes_first():
    definitions = [
        Definition("IL", "interleukin", 0, 2, 0, 0, 1.0, ""),
        Definition("IL-2", "interleukin 2", 0, 4, 0, 0, 1.0, ""),
        Definition("2R-b", "two-receptor b", 0, 4, 0, 0, 1.0, ""),
    ]
    found = find_occurrences("IL-2R, IL-2, IL-2-R", definitions)
    assert [occurrence.long for occurrence in found] == ["interleukin", "interleukin 2", "interleukin 2"]


def test_known_short_forms_come_after_those_of_the_text():
    known = {"CF": "cardiac failure", "MI": "myocardial infarction", "IL-2": "interleukin 2"}
    text = "Cystic fibrosis (CF), MIs, CF and IL-2."
    occurrences = find_occurrences(text, find_definitions(text), known)
    assert [(text[occurrence.start : occurrence.end], occurrence.long) for occurrence in occurrences] == [
        ("CF", "Cystic fibrosis"),
        ("MIs", "myocardial infarction"),
        ("CF", "Cystic fibrosis"),
        ("IL-2", "interleukin 2"),
    ]
    assert [occurrence.long_start for occurrence in occurrences] == [0, None, 0, None]


@given(TEXTS)
def test_uses_stand_where_they_say(text):
    definitions = find_definitions(text, min_precision=0)
    for occurrence in find_occurrences(text, definitions):
        short = {text[occurrence.start : occurrence.end].removesuffix("s"), text[occurrence.start : occurrence.end]}
        assert occurrence[2:] in {(form.long, form.long_start, form.long_end) for form in definitions}
        assert any(form.short in short or form.short.removesuffix("s") in short for form in definitions)
        assert text[occurrence.long_start : occurrence.long_end] == occurrence.long


@given(TEXTS, st.dictionaries(st.text("abAB1s-", min_size=1, max_size=4), st.just("long"), max_size=4))
def test_few_and_many_short_forms_are_found_alike(text, known):
    definitions = find_definitions(text, min_precision=0)
    occurrences = find_occurrences(text, definitions, known)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(abbreviations, "FEW", -1)
        assert find_occurrences(text, definitions, known) == occurrences
    assert occurrences == sorted(occurrences, key=lambda occurrence: occurrence.start)
    assert all(occurrence.end <= following.start for occurrence, following in pairwise(occurrences))


# --- expansion


@pytest.mark.parametrize(*cases(__file__, "expansion"))
def test_expansion(mention, expected):
    text = (
        "In cystic fibrosis (CF) and AIDS (acquired immune deficiency syndrome) deaths, interleukin (IL)-10 and "
        "acute myeloid leukemia (AML, M5A) cells; the vessels (blood-brain barrier, BBB). "
        "CF patients with severe CF-related IL-10 or CF(a) have nothing."
    )
    assert expanded(text, mention) == expected


def test_mention_that_cuts_a_use_keeps_it():
    text = "With toll-like receptor (TLR-4) and TLR-4."
    occurrences = [AbbreviationOccurrence(36, 41, "toll-like receptor", 5, 23)]
    assert text[36:41] == "TLR-4"
    assert expand(text, 36, 39, occurrences) == "TLR"
    assert expand(text, 38, 42, occurrences) == "R-4."


@pytest.mark.parametrize(
    ("text", "mention", "expected"),
    [
        (
            "Myotonic dystrophy type (MDT) was seen. A congenital MDT (CMDT) is one. The CMDT cases.",
            *("CMDT cases", "congenital Myotonic dystrophy type cases"),
        ),
        (
            "Adenomatous coli gene (ACG) is one. Mutant ACG gene product (MAGP) here. All MAGP.",
            *("MAGP", "Mutant Adenomatous coli gene product"),  # the repeated word stands once
        ),
    ],
)
def test_short_form_in_a_long_form_is_expanded(text, mention, expected):
    assert expanded(text, mention) == expected


@pytest.mark.parametrize(*cases(__file__, "word_after_a_use_that_ends_its_long_form_is_not_repeated"))
def test_word_after_a_use_that_ends_its_long_form_is_not_repeated(mention, expected):
    known = {"LN": "Lesch-Nyhan syndrome", "TBX": "T box genes", "UB": "ubiquitin", "HDL": "high-density lipoprotein"}
    text = f"Lesch-Nyhan syndrome (LN) syndrome. The {mention}"
    assert expanded(text, mention, **known) == expected


def test_definitions_in_terms_of_each_other_come_to_an_end():
    occurrences = [AbbreviationOccurrence(0, 1, "B", 2, 3), AbbreviationOccurrence(2, 3, "A", 0, 1)]
    assert expand("A B", 0, 3, occurrences) == "A B"


@given(TEXTS, st.integers(0, 80), st.integers(0, 80))
def test_mention_without_uses_stays_as_it_is(text, start, end):
    start, end = sorted((min(start, len(text)), min(end, len(text))))
    occurrences = find_occurrences(text, find_definitions(text, min_precision=0))
    if not any(occurrence.start < end and start < occurrence.end for occurrence in occurrences):
        assert expand(text, start, end, occurrences) == text[start:end]


# --- short forms without a definition


LONGEST = "a".ljust(MAX_CHARS - len(" liver failure"), "c") + " liver failure"
MANY = [f"acute x{n}" for n in range(MOST_TEXTS)]


@pytest.mark.parametrize(
    ("short", "texts", "expected"),
    [
        ("ALF", ["fever", "acute liver failure", "cold"], "acute liver failure"),
        ("OAB", ["overactive bladder", "cold"], "overactive bladder"),
        ("DEN", ["diethylnitrosamine"], "diethylnitrosamine"),
        ("BZDs", ["benzodiazepines"], "benzodiazepines"),
        ("ICH", ["intracerebral hemorrhage"], "intracerebral hemorrhage"),
        ("HPD", ["hereditary progressive dystonia"], "hereditary progressive dystonia"),
        ("ALF", ["renal failure"], None),
        ("ALF", ["severe acute liver failure"], None),  # the whole text must be the long form
        ("ALF", ["ALF"], None),
        ("APC", ["attenuated APC"], None),
        ("OAB", ["absence"], None),
        ("HIV", [""], None),
        ("", ["acute liver failure"], None),
        ("ALF", [LONGEST], LONGEST),
        ("ALF", ["a" + LONGEST], None),
        ("ALF", ["acute nonliver failure", "acute liver failure"], "acute liver failure"),  # the more precise strategy
        ("ALF", ["Acute liver failures", "acute liver failure"], "Acute liver failures"),
        ("PD", ["panic disorder", "Parkinson disease"], None),  # both fit equally well
        *(("VEGF", ["VEGFR-2"], None), ("FOXO", ["FOXO3a"], None)),  # another symbol
        *(("NaF", ["naftifine"], None), ("HF", ["heart failure"], "heart failure")),  # a formula
        *(
            ("IL2", ["interleukin 12"], None),
            ("SCA3", ["spinocerebellar ataxia type 3"], "spinocerebellar ataxia type 3"),
        ),
        ("ALF", [*MANY, "acute liver failure"], None),  # the work is bounded
        ("ALF", ["acute liver failure", *MANY], "acute liver failure"),
    ],
)
def test_the_text_that_fits(short, texts, expected):
    assert likely_long_forms([short], texts) == ({short: expected} if expected else {})


def test_the_rules_of_the_language():
    assert likely_long_forms(["HI"], ["Herzinfarkt"], rules_of("de")) == {"HI": "Herzinfarkt"}


@settings(max_examples=50)
@given(st.lists(st.text(max_size=6), max_size=5), st.lists(st.text(max_size=20), max_size=5))
def test_any_text(short_forms, texts):
    long_forms = likely_long_forms(short_forms, texts)
    assert set(long_forms) <= set(short_forms)
    assert set(long_forms.values()) <= set(texts)


@pytest.mark.parametrize(*cases(__file__, "a_bracket_puts_another_name_beside_a_mention"))
def test_a_bracket_puts_another_name_beside_a_mention(text, label, expected):
    start = text.index("Cognex")
    assert appositions(text, [(0, 7, "CHEMICAL"), (start, start + 6, label)]) == expected


@given(st.text(alphabet="ab ()", max_size=12), st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12))))
def test_appositions_of_any_offsets(text, spans):
    places = [(start, end, "X") for start, end in spans]
    assert set(appositions(text, places)) <= set(range(len(places)))
