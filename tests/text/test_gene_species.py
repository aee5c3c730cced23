import pytest

from spacy_sapbert.text.gene_species import HUMAN, GeneMention, GeneSpecies, SpeciesMention, species_of_genes

from ..cases import cases

MOUSE, RAT, YEAST, HEPATITIS = "NCBITaxon:10090", "NCBITaxon:10116", "NCBITaxon:4932", "NCBITaxon:11103"
NAMES = {
    "human": HUMAN, "patients": HUMAN, "mice": MOUSE, "mouse": MOUSE, "rats": RAT, "yeast": YEAST,
    "hepatitis C virus": HEPATITIS,
}  # fmt: skip


def spans(text, words):
    return [(text.index(word, start), word) for word in words for start in occurrences(text, word)]


def occurrences(text, word):
    position = text.find(word)
    while position >= 0:
        yield position
        position = text.find(word, position + 1)


def species_of(text, gene, name="", **settings):
    """Return the species of the first occurrence of a gene, with a sentence after each full stop."""
    species = [SpeciesMention(start, start + len(word), NAMES[word]) for start, word in spans(text, NAMES)]
    starts = [0, *(position + 2 for position in occurrences(text, ". "))]
    start = text.index(gene)
    mention = GeneMention(start, start + len(gene), name)
    return species_of_genes(text, [mention], species, starts, **settings)[0]


@pytest.mark.parametrize(*cases(__file__, "rules"))
def test_rules(text, gene, expected):
    assert species_of(text, gene) == (expected and GeneSpecies(*expected))


@pytest.mark.parametrize(*cases(__file__, "a_species_that_is_a_tool_has_no_effect"))
def test_a_species_that_is_a_tool_has_no_effect(text):
    assert species_of(text, "Leptin" if "Leptin" in text else "leptin") is None


@pytest.mark.parametrize(*cases(__file__, "words_of_the_text_name_a_species_that_is_not_linked"))
def test_words_of_the_text_name_a_species_that_is_not_linked(text, species):
    start = text.index("Leptin")
    (found,) = species_of_genes(text, [GeneMention(start, start + 6, "")], [], [0, start])
    assert (found and found.species) == species


def test_a_linked_species_is_not_counted_twice():
    text = "Laboratory mice and a woman. Leptin was low."
    linked = [SpeciesMention(0, 15, RAT)]
    (found,) = species_of_genes(text, [GeneMention(29, 35, "")], linked, [0, 29])
    assert found == GeneSpecies(HUMAN, "woman")


def test_a_prefix_decides_unless_it_belongs_to_the_name():
    text = "In patients, mTert and mTOR were measured."
    assert species_of(text, "mTert", "TERT") == (MOUSE, "mTert")
    assert species_of(text, "mTOR", "MTOR") == (HUMAN, "patients")
    assert species_of(text, "mTert", "TERT", prefixes={"m": RAT}) == (RAT, "mTert")


def test_other_organisms_and_another_home():
    text = "We asked patients about hepatitis C virus. Core was found."
    organisms = [HEPATITIS, HUMAN]
    assert species_of(text, "Core", organisms=organisms) == (HUMAN, "patients")
    assert species_of(text, "Core", organisms=organisms, home=HEPATITIS) == (HEPATITIS, "hepatitis C virus")


def test_each_gene_gets_its_own_species():
    text = "In mice, Lep fell. In patients, LEP rose. Then RETN fell."
    genes = [GeneMention(text.index(one), text.index(one) + len(one), "") for one in ("Lep", "LEP", "RETN")]
    species = [SpeciesMention(start, start + len(word), NAMES[word]) for start, word in spans(text, NAMES)]
    answers = species_of_genes(text, genes, species[::-1], [0, 19, 42])
    assert [one and one.species for one in answers] == [MOUSE, HUMAN, HUMAN]
    assert species_of_genes(text, [], species, [0]) == []
