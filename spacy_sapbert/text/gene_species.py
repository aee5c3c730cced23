"""Find the species of a gene from the species that a text names.

The rules follow SR4GN (Wei et al. 2012, doi:10.1371/journal.pone.0038460): a prefix of the gene symbol, then the
nearest species, then the one that the text names most often.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

HUMAN = "NCBITaxon:9606"
_MOUSE, _RAT = "NCBITaxon:10090", "NCBITaxon:10116"
_RODENTS = (_MOUSE, _RAT)

ORGANISMS = (
    HUMAN,
    _MOUSE,
    _RAT,
    "NCBITaxon:7227",  # Drosophila melanogaster
    "NCBITaxon:7955",  # zebrafish
    "NCBITaxon:8355",  # Xenopus laevis
    "NCBITaxon:8364",  # Xenopus tropicalis
    "NCBITaxon:6239",  # Caenorhabditis elegans
    "NCBITaxon:4932",  # Saccharomyces cerevisiae
    "NCBITaxon:4896",  # Schizosaccharomyces pombe
    "NCBITaxon:3702",  # Arabidopsis thaliana
    "NCBITaxon:9031",  # chicken
    "NCBITaxon:9913",  # cattle
    "NCBITaxon:9823",  # pig
    "NCBITaxon:9940",  # sheep
    "NCBITaxon:9796",  # horse
    "NCBITaxon:9615",  # dog
    "NCBITaxon:9986",  # rabbit
    "NCBITaxon:9541",  # crab-eating macaque
    "NCBITaxon:9544",  # rhesus macaque
    "NCBITaxon:10029",  # Chinese hamster
    "NCBITaxon:10141",  # guinea pig
)
"""Organisms whose genes are studied.

Viruses and bacteria are not among them: a text that names one is mostly about genes of its host.
"""

PREFIXES: Mapping[str, str] = {
    "h": HUMAN,
    "m": _MOUSE,
    "r": _RAT,
    "d": "NCBITaxon:7227",
    "z": "NCBITaxon:7955",
    "x": "NCBITaxon:8355",
}
"""Letters before the symbol of a gene, as in "mTrp53", and the species that they mean."""

# such a species is a tool: it hosts human cells, or its antibodies or proteins are used
_HOSTS = frozenset({"nude", "athymic", "scid", "immunodeficient", "immunocompromised", "anti"})
_TOOLS = ("one hybrid", "two hybrid", "three hybrid", "artificial chromosome")
_REACH = 24  # the most characters before or after a species that are read for these words


class SpeciesMention(NamedTuple):
    """A species in a text.

    Attributes:
        start: Offset of the first character.
        end: Offset after the last character.
        species: The id.
    """

    start: int
    end: int
    species: str


class GeneMention(NamedTuple):
    """A gene in a text.

    Attributes:
        start: Offset of the first character.
        end: Offset after the last character.
        name: The name in the vocabulary that is most similar, or an empty text.
    """

    start: int
    end: int
    name: str


class GeneSpecies(NamedTuple):
    """The species of a gene.

    Attributes:
        species: The id.
        evidence: What the text says: the name of the species, or the prefix of the gene.
    """

    species: str
    evidence: str


def species_of_genes(
    text: str,
    genes: Sequence[GeneMention],
    species: Sequence[SpeciesMention],
    sentence_starts: Sequence[int],
    organisms: Collection[str] = ORGANISMS,
    prefixes: Mapping[str, str] = PREFIXES,
    home: str = HUMAN,
) -> list[GeneSpecies | None]:
    """Find the species of each gene of a text.

    The first of these rules that applies decides: the prefix of the symbol; a species directly before the gene; the
    spelling of the symbol, if the text names humans and rodents; the nearest species before and then after the gene in
    its sentence; the species that the text names most often.

    Args:
        text: The text.
        genes: The genes.
        species: The species. Others than `organisms`, and those that are tools ("nude mice", "yeast two-hybrid"), are
            ignored.
        sentence_starts: Offsets, in their order.
        organisms: The species that can have genes.
        prefixes: The letters before symbols, and their species.
        home: The species that wins if no other one is more frequent.

    Returns:
        The species of each gene, or None if the text says nothing.
    """
    if not genes:
        return []
    named = sorted(mention for mention in species if mention.species in organisms and not _is_tool(text, mention))
    in_text = _Text(text, named, sentence_starts, prefixes, home)
    return [in_text.species_of(gene) for gene in genes]


class _Text:
    """The species of a text, sorted, for many genes."""

    def __init__(
        self,
        text: str,
        named: Sequence[SpeciesMention],
        sentence_starts: Sequence[int],
        prefixes: Mapping[str, str],
        home: str,
    ) -> None:
        self._text = text
        self._named = named
        self._starts = [one.start for one in named]
        self._sentences = sentence_starts
        self._prefixes = prefixes
        counts = Counter(one.species for one in named)
        self._rodent = max(_RODENTS, key=lambda one: counts[one])
        self._has_both = bool(counts[HUMAN] and counts[self._rodent])
        self._first = {one.species: one for one in reversed(named)}
        self._most = max(counts, key=lambda one: (counts[one], one == home)) if counts else None

    def species_of(self, gene: GeneMention) -> GeneSpecies | None:
        written = self._text[gene.start : gene.end]
        if prefixed := self._by_prefix_of(written, gene.name):
            return GeneSpecies(prefixed, written)
        following = bisect_left(self._starts, gene.start)
        left = self._named[following - 1] if following else None
        if left and 0 <= gene.start - left.end <= 1:
            return self._named_by(left)
        if self._has_both and (spelled := self._by_spelling(written)):
            return self._named_by(self._first[spelled])
        sentence = bisect_right(self._sentences, gene.start)
        if left and sentence and left.start >= self._sentences[sentence - 1]:
            return self._named_by(left)
        right = self._named[following] if following < len(self._named) else None
        if right and (sentence == len(self._sentences) or right.start < self._sentences[sentence]):
            return self._named_by(right)
        return self._named_by(self._first[self._most]) if self._most else None

    def _named_by(self, mention: SpeciesMention) -> GeneSpecies:
        return GeneSpecies(mention.species, self._text[mention.start : mention.end])

    def _by_prefix_of(self, written: str, name: str) -> str | None:
        """Return the species of a prefix: "mTrp53" has the name "TRP53", but "mTOR" is a name of its own."""
        has_prefix = written[1:2].isupper() and written[1:].casefold() == name.casefold()
        return self._prefixes.get(written[:1]) if has_prefix else None

    def _by_spelling(self, written: str) -> str | None:
        """Return the species of a symbol: human ones have capitals, as TP53, and those of rodents one, as Trp53."""
        if not (written.isalnum() and written[0].isupper() and len(written) > 1):
            return None
        if written.isupper():
            return HUMAN
        has_digit = any(character.isdigit() for character in written)
        return self._rodent if written[1:].islower() and has_digit else None


def _is_tool(text: str, mention: SpeciesMention) -> bool:
    before = _words(text[max(0, mention.start - _REACH) : mention.end])
    after = " ".join(_words(text[mention.end : mention.end + _REACH]))
    inside = len(_words(text[mention.start : mention.end]))
    return not _HOSTS.isdisjoint(before[-inside - 1 :]) or after.startswith(_TOOLS)


def _words(text: str) -> list[str]:
    return text.casefold().replace("-", " ").split()
