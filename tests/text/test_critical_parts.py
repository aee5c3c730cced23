"""What must agree between a text and a name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.text.critical_parts import contradictions
from spacy_sapbert.text.languages import LANGUAGES, rules_of
from spacy_sapbert.text.words import read_words


def differences(text, name, language="en"):
    rules = rules_of(language)
    return list(contradictions(read_words(text, rules).critical, read_words(name, rules).critical))


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        ("MPS II", "MPS III", "3 is not 2"),
        ("SCA 23", "SCA21", "21 is not 23"),
        ("factor v", "Factor VIII", "8 is not 5"),
        ("KIF99", "KIF9", "9 is not 99"),
        ("second degree heart block", "First degree heart block", "1 is not 2"),
        ("type two diabetes", "Type 1 diabetes", "1 is not 2"),
        ("hepatitis B", "Hepatitis C", "c is not b"),
        ("TNFα", "TNF-beta", "b is not a"),
        ("1p36 deletion", "1q36 deletion", "q is not p"),
        ("1,2-dichloroethane", "3,4-dichloroethane", "3 4 is not 1 2"),
        ("1,2-dichloroethane", "1,1-dichloroethane", "1 is not 2"),
        ("decreased heart rate", "Increased heart rate", "increased is not decreased"),
        ("low potassium", "Hyperkalemia", "hyperkalemia is not low"),
        ("left kidney", "Right kidneys", "right is not left"),
        ("adenylate kinase 3 pseudogene 4", "adenylate kinase 4 pseudogene 3", "4 is not 3"),
        ("1-minute score of 3", "1-minute score of 2", "2 is not 3"),
        ("type 2a", "type IIb", "b is not a"),
        ("type Ic", "type Id", "d is not c"),
        ("complementation group 6", "complementation group A", "a is not 6"),
        ("type 20 syndrome", "syndrome, type VIA", "6 is not 20"),
        ("high or absent reflexes", "low or absent reflexes", "absent low is not high"),
        ("hyper IgM syndrome", "hypo-IgM syndrome", "hypo is not hyper"),
        ("acute leukaemia", "Leukemia, Chronic", "chronic is not acute"),
        ("sleepless", "Sleepy", "the name does not negate “sleep”"),
        ("small cell lung cancer", "non-small cell lung cancer", "only the name negates “small”"),
        ("migraine without aura", "Migraine with aura", "the name does not negate “aura”"),
        ("antiphospholipid syndrome", "Phospholipids", "the name does not negate “phospholipid”"),
    ],
)
def test_what_differs_is_named(text, name, reason):
    assert differences(text, name) == [reason]
    assert len(differences(name, text)) == 1


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("type 2 diabetes", "Diabetes Mellitus, Type II"),
        ("stage 02 cancer", "cancer, stage two"),
        ("TNFα", "TNF-alpha"),
        ("TNF-α", "TNF-a"),
        ("Parkinson's disease 4", "Parkinson disease 4"),
        ("diabetes", "diabetes mellitus type 1"),
        ("diabetes type 1", "diabetes"),
        ("hepatitis", "hepatitis B"),
        ("E. coli", "Escherichia coli"),
        ("1,2-dichloro-4-nitrobenzene", "3,4-dichloronitrobenzene"),  # the same atoms, numbered in another way
        ("low renin hypertension", "Hypertension"),
        ("hypothalamic tumor", "Hyperplastic tumor"),
        ("acute on chronic failure", "Acute failure"),
        ("MPS IIIA", "mps 3 a"),
        ("a hepatitis b", "hepatitis B"),
        ("via factor V", "factor 5"),
        ("restless legs", "Painful legs"),
        ("impaired glucose tolerance", "glucose intolerance"),
        ("CD4+ T cells", "CD4-positive T cells"),
        ("TNF-alpha", "TNF+"),
        ("anion gap", "ion gap"),
    ],
)
def test_what_only_one_has_does_not_differ(text, name):
    assert differences(text, name) == []
    assert differences(name, text) == []


@pytest.mark.parametrize(
    ("language", "text", "name"),
    [
        ("de", "erhöhter Blutdruck", "erniedrigter Blutdruck"),
        ("de", "akute Leukämie", "chronische Leukämien"),
        ("de", "linke Niere", "Zyste der rechten Niere"),
        ("de", "schlaflos", "Schlaf"),
        ("es", "hipertensión", "Hipotensión"),
        ("es", "pierna izquierda", "piernas derechas"),
        ("es", "con aura", "sin aura"),
        ("fr", "diabète de type 2", "diabète de type I"),
        ("fr", "jambes gauches", "jambe droite"),
        ("en", "afebrile seizures", "febrile seizure"),
        ("en", "normal gait", "abnormal gait"),
        ("en", "HER2 (+) cancer", "HER2-negative cancer"),
        ("en", "Rh+ blood", "Rh- blood"),
        ("en", "HER2+ breast cancer", "HER2\N{MINUS SIGN} breast cancer"),
        ("de", "febriler Krampf", "afebriler Krampf"),
        ("de", "HER2-positiv", "HER2-"),
        ("es", "sintomático", "Asintomático"),
        ("fr", "continence urinaire", "incontinence urinaire"),
        ("fr", "HER2+", "HER2 négatif"),
        ("fr", "syndrome hyperkinétique", "syndrome hypokinétique"),
    ],
)
def test_every_language_has_opposites(language, text, name):
    assert len(differences(text, name, language)) == 1
    assert differences(text, text, language) == []


def test_a_name_with_all_parts_of_a_text_includes_it():
    parts = read_words("left factor VII deficiency").critical
    assert read_words("Deficiency of factor 7 and 8 (left)").critical.include(parts)
    assert not read_words("7 (left)").critical.include(parts)
    assert not read_words("factor 7 deficiency").critical.include(parts)
    assert not read_words("left factor deficiency").critical.include(parts)
    assert not read_words("Fever").critical.include(read_words("no fever").critical)
    assert read_words("non-obstructive fever").critical.include(read_words("non-obstructive fever").critical)


def test_a_word_is_negated_in_several_ways():
    assert differences("non-febrile seizures", "afebrile seizures", "en") == []
    assert differences("not symmetric", "asymmetric", "en") == []


@pytest.mark.parametrize(
    ("text", "spellings"),
    [
        ("type II diabetes", ["type 2 diabetes"]),
        ("Type 3b, MPS", ["Type IIIb, MPS"]),
        ("second degree block", ["2 degree block", "II degree block"]),
        ("1,2-dichloroethane 5'-phosphate IL-2 type 99", []),
    ],
)
def test_numerals_have_other_spellings(text, spellings):
    assert read_words(text).numeral_spellings == spellings


@pytest.mark.parametrize("language", LANGUAGES)
@given(text=st.text(max_size=40), name=st.text(max_size=40))
def test_no_text_contradicts_itself(language, text, name):
    assert differences(text, text, language) == []
    assert bool(differences(text, name, language)) == bool(differences(name, text, language))
