import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.corpora.med1250 import read_med1250
from spacy_sapbert.evaluation.abbreviations import evaluate_abbreviations
from spacy_sapbert.text import abbreviations
from spacy_sapbert.text.abbreviations import Definition, Use, expand, find_definitions, find_uses


def pairs(text: str, **settings: float) -> "list[tuple[str, str]]":
    return [(definition.short, definition.long) for definition in find_definitions(text, **settings)]


def readings(text: str, **settings: object) -> "list[tuple[str, str]]":
    uses = find_uses(text, find_definitions(text), **settings)
    return [(text[use.start : use.end], use.long) for use in uses]


def expanded(text: str, mention: str, **known: str) -> str:
    start = text.rindex(mention)
    return expand(text, start, start + len(mention), find_uses(text, find_definitions(text), known))


# --- definitions


@pytest.mark.parametrize(
    ("text", "short", "long"),
    [
        ("Patients with cystic fibrosis (CF) were seen.", "CF", "cystic fibrosis"),
        ("The relative risk [RR] was high.", "RR", "relative risk"),
        ("Autopsy of AIDS (acquired immune deficiency syndrome) cases.", "AIDS", "acquired immune deficiency syndrome"),
        ("Levels of interleukin (IL)-10 rose.", "IL", "interleukin"),
        ("In acute myeloid leukemia (AML, M5A) it fell.", "AML", "acute myeloid leukemia"),
        ("With diisothiocyanostilbene disulfonate (DIDS; 10 mumol/l).", "DIDS", "diisothiocyanostilbene disulfonate"),
        ("Vessels of the brain (blood-brain barrier, BBB) leak.", "BBB", "blood-brain barrier"),
        ("Serum testosterone (T) was low.", "T", "testosterone"),
        ("Of serotonin or 5-hydroxytryptamine (5HT) only.", "5HT", "5-hydroxytryptamine"),
        ("The tumor necrosis factor alpha (TNF-alpha) rose.", "TNF-alpha", "tumor necrosis factor alpha"),
        ("By gas chromatography/mass spectrometry (GC/MS) it was.", "GC/MS", "gas chromatography/mass spectrometry"),
        ("The angiotensin II (Ang II) receptor.", "Ang II", "angiotensin II"),
        ("The ubiquitin(Ub) system.", "Ub", "ubiquitin"),
        ("A drug (body mass index (BMI) 27) helped.", "BMI", "body mass index"),
        ('Called "cystic fibrosis" ("CF") since then.', "CF", "cystic fibrosis"),
        ("TUMOR NECROSIS FACTOR (TNF) WAS FOUND.", "TNF", "TUMOR NECROSIS FACTOR"),
        ("The acute\nmyeloid\nleukemia (AML) cells.", "AML", "acute\nmyeloid\nleukemia"),
        ("Anderung: Ärztliche Notfalldienste (ÄN) helfen.", "ÄN", "Ärztliche Notfalldienste"),
    ],
)
def test_forms_of_a_definition(text, short, long):
    (definition,) = find_definitions(text)
    assert definition[:2] == (short, long)
    assert text[definition.short_start : definition.short_end] == short
    assert text[definition.long_start : definition.long_end] == long


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No brackets here.",
        "Both (a) acute disease and (b) bad disease were seen.",
        "We did (i) an imaging and (ii) an inspection of it.",
        "The internal carotid artery (A), and the basilar branch (B).",
        "It took place in Cyprus. Fibrosis (CF) was found.",
        "The size of the sample (n = 5) and p (p<0.05).",
        "A dinuclear complex (2c) was made.",
        "The gene(s) of poly(ADP-ribose) and Arg(Mts).",
        "The (h)alpha chain.",
        "Both Si- (silylene) and others.",
        "Factor XI (factor XIa) and NCAM (polysialic NCAM).",
        "Either C (carbon) or others.",
        "A closing ) and an opening ( bracket.",
        "Mean (see text), range (range), age (age).",
        "Cystic fibrosis (CF(a).",
    ],
)
def test_no_definition(text):
    assert pairs(text) == []


def test_long_form_stays_in_its_sentence_and_bracket():
    assert pairs("It was cold. Fibrous dysplasia (FD) was seen.") == [("FD", "Fibrous dysplasia")]
    assert pairs("Of these, E. coli heat toxin (HT) is one.") == [("HT", "heat toxin")]
    assert pairs("Controls (cystic fibrosis (CF)) were seen.") == [("CF", "cystic fibrosis")]
    assert pairs("Cystic (fibrosis (CF)).") == []


def test_long_form_has_at_most_ten_words():
    assert pairs("alpha " + "of the " * 5 + "beta (AB)") == []


def test_definitions_are_in_order_and_keep_repetitions():
    text = "Cystic fibrosis (CF) and AIDS (acquired immune deficiency syndrome). Again, cardiac failure (CF)."
    assert [definition.short for definition in find_definitions(text)] == ["CF", "AIDS", "CF"]


def test_least_precision():
    text = "The M protein-positive (M+) strain."
    assert pairs(text) == []
    assert pairs(text, min_precision=0.6) == [("M+", "M protein-positive")]


@pytest.mark.parametrize(
    "unit",
    [
        "(",
        ")",
        "([",
        "()",
        "a (b) ",
        "(i) (ii) ",
        "a(b)",
        "alpha beta (AB) ",
        "AB (alpha beta) ",
        ". ",
        '."',
        "(a, b; ",
    ],
)
def test_hostile_text_takes_linear_time(unit):
    def seconds(length: int) -> float:
        text = (unit * (length // len(unit) + 1))[:length]
        start = time.process_time()
        find_uses(text, find_definitions(text))
        return time.process_time() - start

    # quadratic time would make the longer text take 64 times as long, not 8
    assert seconds(80_000) < 24 * max(seconds(10_000), 0.02)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["(", "a (b) ", "alpha beta (AB) "])
def test_a_megabyte_of_hostile_text(unit):
    text = unit * (1_000_000 // len(unit))
    start = time.process_time()
    find_uses(text, find_definitions(text))
    assert time.process_time() - start < 60


def test_nested_brackets_take_linear_time():
    text = "(" * 200_000 + "a" + ")" * 200_000
    start = time.process_time()
    assert find_definitions(text) == []
    assert time.process_time() - start < 10


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
    for definition in definitions:
        assert text[definition.short_start : definition.short_end] == definition.short
        assert text[definition.long_start : definition.long_end] == definition.long
        assert min_precision <= definition.precision <= 1
        assert definition.long_end <= definition.short_start or definition.short_end <= definition.long_start


# --- uses


def test_uses_are_words_of_their_own_with_their_case():
    text = "Cystic fibrosis (CF). CF-related, CFTR, CF, cf, aCF and CF1; CF's."
    uses = find_uses(text, find_definitions(text))
    assert [use.start for use in uses] == [17, 22, 40, text.index("CF's")]
    assert {use[2:] for use in uses} == {("Cystic fibrosis", 0, 15)}


def test_plurals_have_the_long_form_of_the_definition():
    text = "A proton pump inhibitor (PPI) and toll-like receptors (TLRs). PPIs and a TLR, but Cods of (cod)."
    long = {"PPI": "proton pump inhibitor", "TLRs": "toll-like receptors"}
    assert readings(text) == [
        ("PPI", long["PPI"]),
        ("TLRs", long["TLRs"]),
        ("PPIs", long["PPI"]),
        ("TLR", long["TLRs"]),
    ]


def test_short_form_defined_twice_has_the_nearest_definition_before():
    text = "CF is here. Cystic fibrosis (CF). CF too. Cardiac failure (CF). CF last."
    first, second = "Cystic fibrosis", "Cardiac failure"
    assert [long for _, long in readings(text)] == [first, first, first, second, second]


def test_letter_in_a_compound_is_no_use():
    text = "Serum testosterone (T) and T-cells, and low T."
    assert readings(text) == [("T", "testosterone"), ("T", "testosterone")]


def test_longest_use_goes_first():
    definitions = [
        Definition("IL", "interleukin", 0, 2, 0, 0, 1.0, ""),
        Definition("IL-2", "interleukin 2", 0, 4, 0, 0, 1.0, ""),
        Definition("2R-b", "two-receptor b", 0, 4, 0, 0, 1.0, ""),
    ]
    found = find_uses("IL-2R, IL-2, IL-2-R", definitions)
    assert [use.long for use in found] == ["interleukin", "interleukin 2", "interleukin 2"]


def test_known_short_forms_come_after_those_of_the_text():
    known = {"CF": "cardiac failure", "MI": "myocardial infarction", "IL-2": "interleukin 2"}
    text = "Cystic fibrosis (CF), MIs, CF and IL-2."
    uses = find_uses(text, find_definitions(text), known)
    assert [(text[use.start : use.end], use.long) for use in uses] == [
        ("CF", "Cystic fibrosis"),
        ("MIs", "myocardial infarction"),
        ("CF", "Cystic fibrosis"),
        ("IL-2", "interleukin 2"),
    ]
    assert [use.long_start for use in uses] == [0, None, 0, None]


@given(TEXTS, st.dictionaries(st.text("abAB1s-", min_size=1, max_size=4), st.just("long"), max_size=4))
def test_few_and_many_short_forms_are_found_alike(text, known):
    definitions = find_definitions(text, min_precision=0)
    uses = find_uses(text, definitions, known)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(abbreviations, "FEW", -1)
        assert find_uses(text, definitions, known) == uses
    assert uses == sorted(uses, key=lambda use: use.start)
    assert all(use.end <= following.start for use, following in pairwise(uses))


# --- expansion


@pytest.mark.parametrize(
    ("mention", "expected"),
    [
        ("CF", "cystic fibrosis"),
        ("CF patients", "cystic fibrosis patients"),
        ("severe CF-related IL-10", "severe cystic fibrosis-related interleukin-10"),
        ("cystic fibrosis (CF)", "cystic fibrosis"),
        ("fibrosis (CF)", "cystic fibrosis"),
        ("cystic fibrosis (CF", "cystic fibrosis"),
        ("interleukin (IL)-10", "interleukin-10"),
        ("AIDS (acquired immune deficiency syndrome) deaths", "acquired immune deficiency syndrome deaths"),
        ("AIDS (acquired immune", "acquired immune deficiency syndrome"),
        ("acute myeloid leukemia (AML, M5A) cells", "acute myeloid leukemia cells"),
        ("blood-brain barrier, BBB", "blood-brain barrier"),
        ("(AML, M5A)", "(acute myeloid leukemia, M5A)"),
        ("CF(a)", "cystic fibrosis(a)"),
        ("nothing", "nothing"),
        ("C", "C"),
    ],
)
def test_expansion(mention, expected):
    text = (
        "In cystic fibrosis (CF) and AIDS (acquired immune deficiency syndrome) deaths, interleukin (IL)-10 and "
        "acute myeloid leukemia (AML, M5A) cells; the vessels (blood-brain barrier, BBB). "
        "CF patients with severe CF-related IL-10 or CF(a) have nothing."
    )
    assert expanded(text, mention) == expected


def test_mention_that_cuts_a_use_keeps_it():
    text = "With toll-like receptor (TLR-4) and TLR-4."
    uses = [Use(36, 41, "toll-like receptor", 5, 23)]
    assert text[36:41] == "TLR-4"
    assert expand(text, 36, 39, uses) == "TLR"
    assert expand(text, 38, 42, uses) == "R-4."


def test_short_form_in_a_long_form_is_expanded():
    text = "Myotonic dystrophy type (MDT) was seen. A congenital MDT (CMDT) is one. The CMDT cases."
    assert expanded(text, "CMDT cases") == "congenital Myotonic dystrophy type cases"


def test_definitions_in_terms_of_each_other_come_to_an_end():
    uses = [Use(0, 1, "B", 2, 3), Use(2, 3, "A", 0, 1)]
    assert expand("A B", 0, 3, uses) == "A B"


def test_known_short_form_is_expanded():
    assert expanded("No CF here.", "CF here", CF="cystic fibrosis") == "cystic fibrosis here"


@given(TEXTS, st.integers(0, 80), st.integers(0, 80))
def test_mention_without_uses_stays_as_it_is(text, start, end):
    start, end = sorted((min(start, len(text)), min(end, len(text))))
    uses = find_uses(text, find_definitions(text, min_precision=0))
    if not any(use.start < end and start < use.end for use in uses):
        assert expand(text, start, end, uses) == text[start:end]
