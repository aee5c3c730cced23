import pytest
from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.text.general_text import general_mentions


def left_out(text, *labels):
    """Return which of the mentions in brackets are left out. Without labels, all are genes."""
    pieces = text.replace("]", "[").split("[")
    plain, mentions, start = "".join(pieces), [], 0
    for index, piece in enumerate(pieces):
        if index % 2:
            mentions.append((start, start + len(piece), labels[index // 2] if labels else "Gene"))
        start += len(piece)
    return [plain[start:end] for start, end, _ in general_mentions(plain, mentions)]


@pytest.mark.parametrize(
    "text",
    [
        "[Dear Ms. Ray], and [Ms.] Ann [Ray], thank you.",
        "Dr. [Cole] came, and [Prof] Noa Lem.",
        "See [Lam], B. W., and Orr, T. (1993) for this.",
        "Dora [Pell], Jr., wrote to [M.D.]",
        "It was shown by N. Sato, [P. Ozil], and others.",
        "Supported by NIH grant [R01] [CA000001] and by [U01HL00002].",
        "See Table [S4] and Fig. [EV1A], or Annex [A2].",
        "She had a [CAT] scan and [PET]/CT imaging.",
        "The [cat] ate a [pie].",
        "[Chop] the garlic.",
    ],
)
def test_persons_codes_and_words_are_no_concepts(text):
    assert left_out(text) == [piece.partition("]")[0] for piece in text.split("[")[1:]]


@pytest.mark.parametrize(
    "text",
    [
        "a molecule of [Mr] 27,000, of [MD] and of [LY200001]",
        "HeLa cells with [S. Typhimurium], [E. coli] and in C. [Lats1], D. [Nox4]",
        "[S2] cells, see Table [S2]",
        "The [cat] gene was cloned.",
        "[Notch] and [KIT] are high.",
        "She has [hepatitis C]. [Aspirin], a drug, and [cyclin D]. (See there.)",
        "[CAT] activity, measured by the scan",
    ],
)
def test_concepts_stay(text):
    assert left_out(text) == []


def test_a_disease_in_the_text_is_evidence_of_genes():
    assert left_out("[notch] in [ice]", "Gene", "Species") == ["notch"]
    assert left_out("[notch] in [asthma]", "Gene", "Disease") == []


@given(st.text(alphabet="AbDr.S, 1R0CA-(\n", max_size=60), st.integers(0, 60), st.integers(1, 9))
def test_any_text_is_read(text, start, length):
    mentions = [(start, start + length, "Gene")] if start + length <= len(text) else []
    assert set(general_mentions(text, mentions)) <= set(mentions)
