import pytest

from spacy_sapbert.linking.settings import SelectionSettings
from spacy_sapbert.linking.variants import MentionQuery, MentionVariants, select_variant, with_likely_long_forms
from spacy_sapbert.text.languages import rules_of
from spacy_sapbert.types import LinkedPart

from ..graded import graded


def select(scores, variants, short_form_margin=0.1, split_margin=0.0):
    """Each text has one candidate, named after it: its score, or its id and score; without a score it has none."""
    asked = []

    def look_up(text):
        asked.append(text)
        given = scores.get(text)
        concept_id, score = given if isinstance(given, tuple) else (text, given)
        return [] if score is None else [graded(concept_id, score, text), graded("next", score / 2, "next")]

    parts = select_variant(variants, look_up, SelectionSettings(short_form_margin, split_margin, 0.0))
    assert set(asked) <= set(variants.texts())
    assert all(part.candidates == tuple(look_up(part.text)) for part in parts)
    return [part.text for part in parts]


def select_part(candidates, variants, **settings):
    """RETURNS (LinkedPart): what is chosen; `candidates` has id, score and name of the one candidate of each text."""
    chosen = SelectionSettings(**{"short_form_margin": 0.1, "split_margin": 0.0, **settings})
    look_up = {text: [graded(*candidate)] for text, candidate in candidates.items()}
    (part,) = select_variant(variants, lambda text: look_up.get(text, []), chosen)
    return part


@pytest.mark.parametrize(
    ("scores", "chosen"),
    [
        ({"Na": 0.6, "sodium": 1.0}, "sodium"),
        ({"Na": 1.0, "sodium": 1.0}, "Na"),  # a name of the vocabulary
        ({"sodium": 0.9}, "sodium"),
        ({"Na": 0.6}, "Na"),
    ],
)
def test_a_formula_is_looked_up_by_its_name(scores, chosen):
    assert select(scores, MentionVariants("Na")) == [chosen]
    scores.pop("sodium", None)
    assert select(scores, MentionVariants("Na")) == ["Na"]


def test_the_vocabulary_must_have_the_name_of_a_formula():
    candidates = {"Na": ("X", 0.5, "NaX"), "sodium": ("Y", 0.9, "sodium channel")}
    assert select_part(candidates, MentionVariants("Na")).text == "Na"
    candidates["sodium"] = ("Y", 0.9, "Sodium")
    assert select_part(candidates, MentionVariants("Na")).text == "sodium"
    assert select_part(candidates, MentionVariants("Na"), formulas=False).text == "Na"


@pytest.mark.parametrize(("name", "chosen"), [("NO(+)", "nitric oxide"), ("no", "nitric oxide"), ("NO", "NO")])
def test_a_formula_with_another_case_or_charge_is_no_better_than_its_name(name, chosen):
    candidates = {"NO": ("X", 1.0, name), "nitric oxide": ("Y", 1.0, "Nitric Oxide")}
    assert select_part(candidates, MentionVariants("NO")).text == chosen


def likely(*mentions):
    queries = [MentionQuery(MentionVariants(*variants), label) for label, *variants in mentions]
    return [query.variants.likely_long_form for query in with_likely_long_forms(queries)]


def test_the_likely_long_form_of_an_undefined_short_form():
    failure = ("Disease", "acute liver failure")
    assert likely(("Disease", "ALF"), failure, ("Disease", "fever")) == ["acute liver failure", None, None]
    assert likely(failure, ("Gene", "ALF")) == [None, None]  # another label
    assert likely(failure, ("Disease", "ALF", "alfalfa fever")) == [None, None]  # the document defines it
    assert likely(("Disease", "ALF"), ("Disease", "ALIF")) == [None, None]  # no long form either
    assert likely() == []


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({"ALF": ("D", 0.5, "ALP"), "acute liver failure": ("D", 0.9, "Liver Failure")}, "acute liver failure"),
        ({"ALF": ("D", 0.7, "Alf"), "acute liver failure": ("D", 0.9, "Liver Failure")}, "ALF"),  # a vocabulary name
        ({"ALF": ("D", 0.5, "ALP"), "acute liver failure": ("D", 0.5, "Liver Failure")}, "ALF"),
        ({"acute liver failure": ("D", 0.3, "Liver Failure")}, "acute liver failure"),
    ],
)
def test_a_likely_long_form_does_not_replace_a_name(names, expected):
    variants = MentionVariants("ALF", likely_long_form="acute liver failure")
    part = select_part(names, variants)
    assert part.text == expected
    assert part.long_form == (None if expected == "ALF" else expected)


@pytest.mark.parametrize(("score", "chosen"), [(0.7, "tacrine"), (1.0, "Cognex")])
def test_a_name_beside_a_mention_gives_it_its_concept(score, chosen):
    names = {"Cognex": ("D", score, "Cogner"), "tacrine": ("E", 1.0, "Tacrine")}
    assert select_part(names, MentionVariants("Cognex", apposition="tacrine")).text == chosen


@pytest.mark.parametrize(
    ("text", "beside"),
    [
        ("cytotoxic drug", "cisplatin"),
        ("sulfonylureas", "glibenclamide"),
        ("hypoglycaemic", "hyperglycemic"),
        ("carcinoma", "lung carcinoma"),
        ("pain", "VAS"),
    ],
)
def test_a_class_or_an_opposite_is_no_other_name(text, beside):
    names = {text: ("D", 0.7, "other"), beside: ("E", 1.0, beside)}
    assert select_part(names, MentionVariants(text, apposition=beside)).text == text


def test_a_correction_of_a_short_form_does_not_hide_the_long_form():
    variants = MentionVariants("ALF", corrections={"ALF": "ALP"}, likely_long_form="acute liver failure")
    names = {"ALF": ("D", 0.1, "x"), "ALP": ("D", 0.5, "ALP"), "acute liver failure": ("D", 0.9, "Liver Failure")}
    assert select_part(names, variants).text == "acute liver failure"


def test_a_defined_short_form_is_not_a_formula():
    scores = {"As": 0.5, "arsenic": 1.0, "spondylitis": 0.45}
    assert select(scores, MentionVariants("As", "spondylitis")) == ["spondylitis"]


def test_parts_of_a_composite_may_be_formulas():
    scores = {"NaCl and KCl": 0.5, "NaCl": 0.4, "KCl": 0.4, "sodium chloride": 1.0, "potassium chloride": 1.0}
    variants = MentionVariants("NaCl and KCl", None, [("NaCl", "KCl")])
    assert select(scores, variants) == ["sodium chloride", "potassium chloride"]


def test_texts_to_look_up():
    assert MentionVariants("NO").texts() == ["NO", "nitric oxide"]
    assert MentionVariants("NO", "neutral object").texts() == ["NO", "neutral object"]
    assert MentionVariants("a").texts() == ["a"]
    variants = MentionVariants("a", "b", [("c", "d"), ("e", "a", "f")])
    assert variants.texts() == ["a", "b", "c", "d", "e", "a", "f"]


@pytest.mark.parametrize(
    ("short", "long", "expected"),
    [(0.9, 0.9, "long"), (0.9, 0.85, "long"), (0.98, 0.85, "SF"), (0.5, None, "SF"), (None, 0.2, "long")],
)
def test_the_short_form_must_be_clearly_better(short, long, expected):
    assert select({"SF": short, "long": long}, MentionVariants("SF", "long")) == [expected]


@pytest.mark.parametrize(
    ("short", "name", "score", "expected"),
    [
        ("NOX2", "NADPH oxidase 1", 0.96, "short"),  # another number
        ("SOX2", "sex determining region Y", 0.92, "short"),  # no number
        ("iNOS", "nitric oxide synthase 1", 0.86, "short"),  # adds one
        ("ER", "estrogen receptor 1", 0.97, "long"),  # adds nothing else
        ("FAK", "focadhesin", 0.77, "short"),  # not above the threshold
        ("ALP", "alkaline phosphatase, placental", 0.92, "long"),
        ("CO2", "Carbon Dioxide", 1.0, "long"),  # the long form is a name
    ],
)
def test_a_short_form_that_is_a_name_gives_way_to_a_long_form_with_its_numbers(short, name, score, expected):
    part = select_part({short: ("S", 1.0, short), "long": ("L", score, name)}, MentionVariants(short, "long"))
    assert part.text == (short if expected == "short" else "long")


def test_margin_of_the_short_form_is_exclusive():
    variants = MentionVariants("SF", "long")
    assert select({"SF": 0.75, "long": 0.5}, variants, short_form_margin=0.25) == ["long"]
    assert select({"SF": 0.8125, "long": 0.5}, variants, short_form_margin=0.25) == ["SF"]
    assert select({"SF": 0.75, "long": 0.5}, variants, short_form_margin=0.0) == ["SF"]


def test_the_long_form_says_so():
    part = select_part({"SF": ("C", 0.5, "SF"), "long": ("C", 0.5, "long")}, MentionVariants("SF", "long"))
    assert part == LinkedPart("long", "long", (graded("C", 0.5, "long"),))
    assert select_part({}, MentionVariants("SF")) == LinkedPart("SF", None, ())


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ({"whole": 0.8, "a": 0.9, "b": 1.0}, ["a", "b"]),
        ({"whole": 0.9, "a": 0.8, "b": 1.0}, ["whole"]),
        ({"whole": 0.9, "a": 0.9, "b": 0.9}, ["whole"]),
        ({"whole": 0.1, "a": 0.9}, ["whole"]),
        ({"a": 0.1, "b": 0.2}, ["a", "b"]),
        ({}, ["whole"]),
    ],
)
def test_the_lowest_part_must_be_above_the_whole(scores, expected):
    assert select(scores, MentionVariants("whole", None, [("a", "b")])) == expected


def test_a_name_of_the_vocabulary_is_not_split():
    variants = MentionVariants("breast and ovarian cancer", None, [("breast cancer", "ovarian cancer")])
    scores = {"breast and ovarian cancer": 0.991, "breast cancer": 1.0, "ovarian cancer": 0.999}  # the prior differs
    assert select(scores, variants) == ["breast and ovarian cancer"]
    assert select({**scores, "breast and ovarian cancer": 0.98}, variants) == ["breast cancer", "ovarian cancer"]


@pytest.mark.parametrize(
    ("scores", "is_split"),
    [
        ({"ERK1": 1.0, "ERK2": 0.995}, True),
        ({"ERK1": 1.0, "ERK2": 0.9}, False),  # a single word must be a name
        ({"ERK1": ("same", 0.9), "ERK2": ("same", 0.9)}, False),
    ],
)
def test_numbered_parts_must_be_names(scores, is_split):
    variants = MentionVariants("ERK1/2", None, [("kinase 1", "kinase 2"), ("ERK1", "ERK2")])
    for whole in (0.7, 0.97):
        assert (len(select({"ERK1/2": whole, **scores}, variants)) == 2) == is_split


@pytest.mark.parametrize(
    ("name", "score", "n_parts"),
    [("ataxia type II", 0.8, 2), ("ataxia type II", 0.69, 1), ("ataxia", 0.8, 1), ("ataxia 3", 0.8, 1)],
)
def test_a_name_of_a_numbered_part_has_its_number(name, score, n_parts):
    candidates = {"ataxia 1": [graded("A", 0.9, "ataxia type 1")], "ataxia 2": [graded("B", score, name)]}
    variants = MentionVariants("ataxia 1/2", None, [tuple(candidates)])
    candidates["ataxia 1/2"] = [graded("A", 0.85, "ataxia type 1")]
    assert len(select_variant(variants, candidates.__getitem__, SelectionSettings())) == n_parts
    assert len(select_variant(variants, candidates.__getitem__, SelectionSettings(split_margin=1.0))) == 1


@pytest.mark.parametrize(
    ("whole", "other", "n_parts"),
    [
        (("N", 0.89, "Nerve Disorder"), ("M", 0.75, "Mental Disorders"), 2),
        (("N", 0.89, "Nerve Disorder"), ("M", 0.65, "Mental Disorders"), 1),  # too far from all names
        (("N", 0.89, "Nerve Disorder"), ("M", 0.85, "Disorders"), 1),  # only the word that is shared
        (("N", 0.89, "Nerve Disorder"), ("N", 0.85, "Nerve and Mind"), 1),  # the same concept
        (("N", 0.89, "Mind Nerve Disorder"), ("M", 0.85, "Mental Disorders"), 1),  # a name of both
        (("X", 0.89, "Brain Disorder"), ("M", 0.85, "Mental Disorders"), 1),
        (("M", 0.89, "Mental or Nerve Disorders"), ("M", 0.85, "Mental Disorders"), 1),  # the whole is closer
    ],
)
def test_a_whole_with_the_name_of_one_part_is_split(whole, other, n_parts):
    part = graded("N", 1.0, "Nerve Disorder")
    candidates = {"nerve and mind disorders": [graded(*whole)], "nerve disorders": [part]}
    candidates["mind disorders"] = [graded(*other)]
    variants = MentionVariants("nerve and mind disorders", None, [("nerve disorders", "mind disorders")])
    parts = select_variant(variants, candidates.__getitem__, SelectionSettings())
    assert len(parts) == n_parts
    assert len(select_variant(variants, candidates.__getitem__, SelectionSettings(split_margin=1.0))) == 1


def test_another_way_to_write_a_numbered_part_is_its_name():
    candidates = {"TGF-β1": [graded("A", 0.98, "TGFB1", rewrite="a symbol")]}
    candidates |= {"TGF-β2": [graded("B", 0.995, "TGFB2")], "TGF-β1/2": [graded("C", 0.7, "TGFbeta")]}
    variants = MentionVariants("TGF-β1/2", None, [("TGF-β1", "TGF-β2")])
    assert len(select_variant(variants, candidates.__getitem__, SelectionSettings())) == 2


def test_split_margin():
    variants = MentionVariants("whole", None, [("a", "b")])
    scores = {"whole": 0.5, "a": 0.75, "b": 0.75}
    assert select(scores, variants, split_margin=0.125) == ["a", "b"]
    assert select(scores, variants, split_margin=0.25) == ["whole"]


def test_the_best_split_then_the_likelier_one():
    variants = MentionVariants("whole", None, [("a", "b"), ("c", "d"), ("e", "f")])
    assert select({"whole": 0.1, "a": 0.5, "b": 1.0, "c": 0.6, "d": 0.7, "e": 0.64, "f": 0.9}, variants) == ["c", "d"]
    assert select({"whole": 0.1, "a": 0.5, "b": 1.0, "c": 0.54, "d": 0.7, "e": 0.59, "f": 0.9}, variants) == ["a", "b"]
    assert select({"whole": 0.6, "a": 0.5, "b": 1.0, "c": 0.6, "d": 0.7, "e": 0.5, "f": 0.9}, variants) == ["whole"]


def test_parts_are_compared_with_the_variant_that_is_linked():
    variants = MentionVariants("SF", "long", [("a", "b")])
    scores = {"a": 0.7, "b": 0.7}
    assert select({**scores, "SF": 0.65, "long": 0.6}, variants) == ["a", "b"]
    assert select({**scores, "SF": 0.9, "long": 0.6}, variants) == ["SF"]


def test_parts_of_one_concept_are_one():
    variants = MentionVariants("stage II and III cancer", None, [("stage II cancer", "stage III cancer")])
    scores = {"stage II and III cancer": 0.5, "stage II cancer": ("C", 0.8), "stage III cancer": ("C", 0.9)}
    assert select(scores, variants) == ["stage II cancer"]
    assert select({**scores, "stage III cancer": ("D", 0.9)}, variants) == ["stage II cancer", "stage III cancer"]


def test_a_name_that_is_known_already_is_taken_where_it_scores_higher():
    candidates = {"deaths": ("D050197", 0.87, "ATHS"), "Death": ("D003643", 1.0, "Death")}
    part = select_part(candidates, MentionVariants("deaths", name="Death"))
    assert (part.text, part.long_form, part.candidates[0].concept_id) == ("deaths", None, "D003643")
    assert select_part(candidates, MentionVariants("Death", name="deaths")).candidates[0].concept_id == "D003643"


@pytest.mark.parametrize(
    ("wrong", "right", "expected"), [(0.5, 0.75, "right"), (0.5, 0.5, "wrong"), (1.0, 1.0, "wrong")]
)
def test_the_correction_must_be_better(wrong, right, expected):
    variants = MentionVariants("wrong", corrections={"wrong": "right"})
    assert select({"wrong": wrong, "right": right}, variants) == [expected]


def test_margin_of_corrections_is_exclusive():
    variants = MentionVariants("wrong", corrections={"wrong": "right"})
    candidates = {"wrong": ("A", 0.5, "a"), "right": ("B", 0.75, "b")}
    for margin, expected in ((0.25, "wrong"), (0.125, "right"), (-0.25, "right")):
        part = select_part(candidates, variants, spelling_margin=margin)
        assert part == LinkedPart(expected, None, (graded(*candidates[expected]),))


def test_every_variant_can_be_corrected():
    variants = MentionVariants("SF", "long", [("a", "b")], corrections={"long": "lung", "a": "A"})
    assert variants.texts() == ["SF", "long", "a", "b", "lung", "A"]
    assert select({"SF": 0.7, "long": 0.5, "lung": 0.9, "a": 0.1, "A": 0.2, "b": 0.8}, variants) == ["lung"]
    assert select({"SF": 0.7, "long": 0.5, "lung": 0.6, "a": 0.1, "A": 0.7, "b": 0.8}, variants) == ["A", "b"]


def test_a_corrected_long_form_says_what_it_comes_from():
    variants = MentionVariants("SF", "long", corrections={"long": "lung"})
    part = select_part({"SF": ("C", 0.5, "SF"), "long": ("C", 0.5, "long"), "lung": ("C", 0.9, "lung")}, variants)
    assert part == LinkedPart("lung", "long", (graded("C", 0.9, "lung"),))


def test_a_part_without_candidates_is_not_dropped():
    candidates_of = {"a and b": [], "a": [graded("D000001", 0.9, "a")], "b": []}
    variants = MentionVariants("a and b", composite_splits=[("a", "b")])
    parts = select_variant(variants, candidates_of.__getitem__, SelectionSettings(0.1, -0.1))
    assert [part.text for part in parts] == ["a", "b"]


@pytest.mark.parametrize(("code", "expected"), [("en", "A"), ("de", "B")])
def test_numbers_are_read_by_the_rules_of_the_language(code, expected):
    candidates = {"T2": [graded("A", 1.0, "T2")], "Tumor zwei": [graded("B", 0.9, "Tumor zwei")]}
    variants = MentionVariants("T2", "Tumor zwei")
    (part,) = select_variant(variants, candidates.__getitem__, SelectionSettings(), rules=rules_of(code))
    assert part.candidates[0].concept_id == expected
