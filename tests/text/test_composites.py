import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.text.composites import MAX_CONJUNCTS, MAX_WORDS, composite_splits, differ_in_numbers
from spacy_sapbert.text.languages import ENGLISH


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # shared head
        ("breast and ovarian cancer", ("breast cancer", "ovarian cancer")),
        ("pleural and pericardial effusions", ("pleural effusions", "pericardial effusions")),
        ("Renal OR liver failure", ("Renal failure", "liver failure")),
        ("acute and chronic renal failure", ("acute renal failure", "chronic renal failure")),
        ("cardiac and acute renal failure", ("cardiac failure", "acute renal failure")),
        ("ovarian and fallopian tube cancers", ("ovarian cancers", "fallopian tube cancers")),
        ("breast and squamous cell carcinoma", ("breast carcinoma", "squamous cell carcinoma")),
        ("bone marrow and liver toxicity", ("bone marrow toxicity", "liver toxicity")),
        ("renal and hepatic disease of childhood", ("renal disease of childhood", "hepatic disease of childhood")),
        ("pain and visual loss in the eye", ("pain in the eye", "visual loss in the eye")),
        ("breast\n and   ovarian\tcancer", ("breast cancer", "ovarian cancer")),
        # shared modifier
        ("atrial fibrillation and flutter", ("atrial fibrillation", "atrial flutter")),
        ("cleft lip and/or palate", ("cleft lip", "cleft palate")),
        ("cancer of the renal pelvis and bladder", ("cancer of the renal pelvis", "cancer of the bladder")),
        ("cancer of the colon and the ovary", ("cancer of the colon", "cancer of the ovary")),
        ("cancer of the colon and of the ovary", ("cancer of the colon", "cancer of the ovary")),
        ("injury to liver and kidney", ("injury to liver", "injury to kidney")),
        ("bleeding from stomach and duodenum", ("bleeding from stomach", "bleeding from duodenum")),
        # both
        ("impaired renal and liver function", ("impaired renal function", "impaired liver function")),
        ("familial breast and ovarian cancer", ("familial breast cancer", "familial ovarian cancer")),
        ("tumors of breast and ovary in women", ("tumors of breast in women", "tumors of ovary in women")),
        ("migraine with or without aura", ("migraine with aura", "migraine without aura")),
        # own heads
        ("acute renal failure and hepatic failure", ("acute renal failure", "acute hepatic failure")),
        ("low back pain and leg pain", ("low back pain", "leg pain")),
        ("diabetes and heart disease", ("diabetes", "heart disease")),
        # numerals
        ("type I and II diabetes", ("type I diabetes", "type II diabetes")),
        ("type 1 and type 2 diabetes", ("type 1 diabetes", "type 2 diabetes")),
        ("ataxia type 1 and 2", ("ataxia type 1", "ataxia type 2")),
        ("C6 and C7 deficiencies", ("C6 deficiencies", "C7 deficiencies")),
        ("vitamin A, D and E deficiency", ("vitamin A deficiency", "vitamin D deficiency", "vitamin E deficiency")),
        # connectors
        ("hematologic/oncologic disorder", ("hematologic disorder", "oncologic disorder")),
        ("renal / hepatic failure", ("renal failure", "hepatic failure")),
        ("renal/ hepatic failure", ("renal failure", "hepatic failure")),
        ("renal /hepatic failure", ("renal failure", "hepatic failure")),
        ("renal & hepatic failure", ("renal failure", "hepatic failure")),
        ("renal as well as hepatic failure", ("renal failure", "hepatic failure")),
        ("renal but not hepatic failure", ("renal failure", "hepatic failure")),
        # lists
        ("renal, hepatic, or cardiac failure", ("renal failure", "hepatic failure", "cardiac failure")),
        ("nausea, vomiting and diarrhea", ("nausea", "vomiting", "diarrhea")),
        ("breast, head and neck, and lung cancer", ("breast cancer", "head and neck cancer", "lung cancer")),
        ("loss of near and far sight, and hearing", ("loss of near and far sight", "loss of hearing")),
        # lists of which only some share words
        ("fever, joint and muscle pain", ("fever", "joint pain", "muscle pain")),
        ("renal, ovarian, and breast cancers, and flu", ("renal cancers", "ovarian cancers", "breast cancers", "flu")),
        # what a hyphen leaves out
        ("hyper- or hypotension", ("hypertension", "hypotension")),
        (
            "flu- and Hippel-Lindau disease-associated tumors",
            ("flu-associated tumors", "Hippel-Lindau disease-associated tumors"),
        ),
        ("Hypo- and hyperthyroidism", ("Hypothyroidism", "hyperthyroidism")),
        ("hyper‐ and hypokalaemia", ("hyperkalaemia", "hypokalaemia")),
        ("hypo-/hyperthyroidism", ("hypothyroidism", "hyperthyroidism")),
        ("intra- and extrahepatic cholestasis", ("intrahepatic cholestasis", "extrahepatic cholestasis")),
        ("hepato- and nephrotoxicity", ("hepatotoxicity", "nephrotoxicity")),
        ("drug- and alcohol-induced ulcers", ("drug-induced ulcers", "alcohol-induced ulcers")),
        ("T- and B-cell lymphoma", ("T-cell lymphoma", "B-cell lymphoma")),
        ("drug-induced and -related ulcers", ("drug-induced ulcers", "drug-related ulcers")),
        ("estradiol- and testosterone esters", ("estradiol esters", "testosterone esters")),
        ("hypo/hyperthyroidism", ("hypothyroidism", "hyperthyroidism")),
        ("intra and extrahepatic cholestasis", ("intrahepatic cholestasis", "extrahepatic cholestasis")),
        # a part of a word that a number or a letter ends
        ("ERK1/2", ("ERK1", "ERK2")),
        ("ERK1/2-dependent apoptosis", ("ERK1-dependent apoptosis", "ERK2-dependent apoptosis")),
        ("caspase-3/-7", ("caspase-3", "caspase-7")),
        ("BRCA1 and -2 mutations", ("BRCA1 mutations", "BRCA2 mutations")),
        ("SCA1, 2, 3 and 6", ("SCA1", "SCA2", "SCA3", "SCA6")),
        ("CYP2C9/19", ("CYP2C9", "CYP2C19")),
        ("CYP1A1 or 1B1", ("CYP1A1", "CYP1B1")),
        ("miR-15a/16", ("miR-15a", "miR-16")),
        ("IL-1α/β", ("IL-1α", "IL-1β")),
        ("TNF-alpha and beta", ("TNF-alpha", "TNF-beta")),
        ("17α/β-estradiol", ("17α-estradiol", "17β-estradiol")),
        ("HLA-A, B and C", ("HLA-A", "HLA-B", "HLA-C")),
        ("LC3-I/II", ("LC3-I", "LC3-II")),
        ("T/B-cell lymphoma", ("T-cell lymphoma", "B-cell lymphoma")),
        ("hepatitis A, B, C", ("hepatitis A", "hepatitis B", "hepatitis C")),
        ("diabetes type 1/type 2", ("diabetes type 1", "diabetes type 2")),
        ("trisomy 13/18", ("trisomy 13", "trisomy 18")),
        ("S100A7/A8/A9", ("S100A7", "S100A8", "S100A9")),
        ("PD-L1 and L2", ("PD-L1", "PD-L2")),
        ("Notch-1, -3, -4", ("Notch-1", "Notch-3", "Notch-4")),
        ("PAK4-6 kinases", ("PAK4 kinases", "PAK5 kinases", "PAK6 kinases")),
        ("AKR1C1–AKR1C3", ("AKR1C1", "AKR1C2", "AKR1C3")),
        ("CA125/CA19-9", ("CA125", "CA19-9")),
        ("IL-6 and p53", ("IL-6", "p53")),
        # modifiers behind their noun
        ("complement deficiencies (C2 and C7)", ("complement deficiencies C2", "complement deficiencies C7")),
        ("leukemia, acute and chronic", ("leukemia acute", "leukemia chronic")),
        ("kinin receptors, B1 and B2", ("kinin receptors B1", "kinin receptors B2")),
        ("DNA polymerases, alpha or delta", ("DNA polymerases alpha", "DNA polymerases delta")),
        # brackets and small words
        ("ventricular septal (VSD) and midline (MD) defects",
         ("ventricular septal (VSD) defects", "midline (MD) defects")),
        ("1,3-butadiene and benzene exposure", ("1,3-butadiene exposure", "benzene exposure")),
        ("colon and some other cancers", ("colon cancers", "cancers")),
        ("both renal and hepatic failure", ("renal failure", "hepatic failure")),
        ("Duchenne and the milder Becker dystrophies", ("Duchenne dystrophies", "milder Becker dystrophies")),
    ],
)  # fmt: skip
def test_first_reading(text, expected):
    assert composite_splits(text)[0] == expected


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "cancer", "and", "/ , and", "breast and", "or cancer", "cancer and cancer", "dibenzo/b,f/azepine",
        "1,25-dihydroxyvitamin D", "N,N-dimethylpropranolol", "N, N'-diisopropylphosphorodiamidofluoridate",
        "4,000 Hz hearing loss", "A/T", "1/2", "12/5/2020", "head and neck cancer", "Emerin, deficiency",
        "gangliosidosis, type 1", "sudden, unexplained death",
        "brandy-induced orchitis", "CA19-9", "miR-17-92", "14-3-3 zeta", "1-4 dioxane", "COVID-19",
    ],
)  # fmt: skip
def test_no_reading_without_a_connector(text):
    assert composite_splits(text) == []


def test_a_coordination_in_another_one():
    failures = tuple(f"{course} {organ} failure" for course in ("acute", "chronic") for organ in ("liver", "kidney"))
    assert set(failures) in map(set, composite_splits("acute or chronic liver and kidney failure"))
    assert composite_splits("acute or chronic and or kidney failure")  # no connector has an empty side


def test_further_readings_follow_the_best():
    assert ("breast", "ovarian cancer") in composite_splits("breast and ovarian cancer")
    assert ("cancer of the renal pelvis", "cancer of the renal bladder") in composite_splits(
        "cancer of the renal pelvis and bladder"
    )


def test_the_noun_of_numbers_is_shared():
    assert composite_splits("type 1/2 diabetes") == [("type 1 diabetes", "type 2 diabetes")]
    assert composite_splits("MPS I, II and III") == [("MPS I", "MPS II", "MPS III")]


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("ERK1", "ERK2"), True), (("IL-1α", "IL-1β"), True), (("hepatitis B", "hepatitis C"), True),
        (("MPS I", "MPS III"), True), (("F4", "F80"), True), (("miR-15a", "miR-16"), True),
        (("breast cancer", "ovarian cancer"), False), (("N", "P"), False), (("IL-6", "p53"), False),
    ],
)  # fmt: skip
def test_parts_that_differ_in_numbers(parts, expected):
    assert differ_in_numbers(parts) == expected


def test_implausible_readings_are_not_offered():
    assert composite_splits("pleural and pericardial effusion") == [("pleural effusion", "pericardial effusion")]
    assert composite_splits("N, N'-dimethylurea and atropine") == [("N, N'-dimethylurea", "atropine")]


def test_max_splits_keeps_the_best():
    text = "impairment of left renal and right hepatic vein function in women"
    everything = composite_splits(text, max_splits=100)
    assert len(everything) > 6
    assert composite_splits(text) == everything[:6]
    assert composite_splits(text, max_splits=1) == everything[:1]


def test_number_of_conjuncts_is_bounded():
    organs = [f"organ{number}" for number in range(MAX_CONJUNCTS + 1)]
    assert len(composite_splits(f"{', '.join(organs[1:-1])} and {organs[-1]} pain")[0]) == MAX_CONJUNCTS
    assert composite_splits(f"{', '.join(organs[:-1])} and {organs[-1]} pain") == []


def test_number_of_words_is_bounded():
    assert composite_splits("very " * (MAX_WORDS - 3) + "bad and worse")
    assert composite_splits("very " * (MAX_WORDS - 2) + "bad and worse") == []


SMALL_WORDS = ["and", "or", "but", "not", "as", "well", "/", "&", ",", "and/or", "of", "the", "both", "other", "type"]
LARGE_WORDS = [
    "renal", "hepatic", "cancer", "acute", "left", "head", "neck", "II", "2", "C6", "(VSD)", "(a", "b)", "N,",
]  # fmt: skip
WORDS = st.sampled_from([*SMALL_WORDS, *LARGE_WORDS, "a/b", "breast/ovarian", "pain,", "µ", "b,f"])
ELLIPSES = st.sampled_from(["hyper-", "-related", "drug-induced", "hypotension", "-", "--", "T-"])
MENTIONS = st.lists(WORDS, max_size=14).map(" ".join)


@given(st.one_of(st.text(max_size=60), MENTIONS, st.lists(st.one_of(WORDS, ELLIPSES), max_size=10).map(" ".join)))
def test_readings_are_well_formed(text):
    offered = composite_splits(text)
    assert offered == composite_splits(text)
    assert len(offered) <= 6
    assert len(set(offered)) == len(offered)
    for reading in offered:
        assert len(set(reading)) == len(reading) >= 2
        assert all(part == " ".join(part.split()) != "" for part in reading)
        assert " ".join(text.split()) not in reading


@given(MENTIONS)
def test_parts_hold_only_words_of_the_whole(text):
    pieces = {*text.replace("/", " ").replace(",", " ").split(), "C2"}  # of "C6 and 2"
    for reading in composite_splits(text):
        for part in reading:
            assert set(part.replace("/", " ").replace(",", " ").split()) <= pieces


@pytest.mark.parametrize("connector", sorted(ENGLISH.composites.connectors - {","}))
def test_no_connector_is_overlooked(connector):
    for written in (connector, connector.upper(), connector.replace(" ", "\n")):
        assert composite_splits(f"breast {written} ovarian cancer")[0] == ("breast cancer", "ovarian cancer")
