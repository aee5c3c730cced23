"""Find the species of a gene from the species that a text names.

The rules follow SR4GN (Wei et al. 2012, doi:10.1371/journal.pone.0038460): a prefix of the gene symbol, then the
nearest species, then the one that the text names most often.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..files.values import read_lists

HUMAN = "NCBITaxon:9606"
_MOUSE, _RAT = "NCBITaxon:10090", "NCBITaxon:10116"
_RODENTS = (_MOUSE, _RAT)


def _rows(listed: str) -> list[tuple[str, str]]:
    """Return the first word of each line, and what follows."""
    parts = (line.partition(" ") for line in listed.splitlines())
    return [(first, rest) for first, _, rest in parts]


_LISTS = {name: _rows(listed) for name, listed in read_lists(__file__).items()}
ORGANISMS = tuple(species for species, _ in _LISTS["organisms"])
"""Organisms whose genes are studied.

Viruses and bacteria are not among them: a text that names one is mostly about genes of its host.
"""

PREFIXES: Mapping[str, str] = dict(_LISTS["prefixes"])
"""Letters before the symbol of a gene, as in "mTrp53", and the species that they mean."""

# Not among the words are "bovine", rabbit, horse and hamster, which mostly give sera, antibodies and cells. The case of
# cells and strains counts. HEK293, COS and CHO are not among them: they express genes of any species.
_CELLS = _LISTS["cells"]
_SPECIES_OF_WORD = {word: species for species, words in _LISTS["words"] for word in words.split("|")}
_WORD = re.compile(
    rf"\b(?:({'|'.join(map(re.escape, sorted(_SPECIES_OF_WORD, key=len, reverse=True)))})s?)\b", re.A | re.I
)
_CELL = re.compile(rf"(?<![\w-])(?:{'|'.join(f'({cells})' for _, cells in _CELLS)})(?!\w)")

# species that are tools: rodents that host human cells, and what gives antibodies, proteins or a test
_HOST = re.compile(r"\b(?:nude|athymic|scid|immunodeficient|immunocompromised|xenograft(?:s|ed)?)\b", re.I)
_TOOL_BEFORE = re.compile(r"\banti[\s-]+(?:\w+[\s-]+)?$", re.I)
_TOOL_AFTER = re.compile(
    r"[\s-]*(?:(?:one|two|three)[\s-]+hybrid|artificial chromosome|(?:mono|poly)clonal|anti(?:-|bod|ser)|"
    r"ovary cells|ovary \(CHO|kidney cells|reticulocyte lysate)",
    re.I,
)
_REACH = 30  # the most characters before or after a species that are read for these words


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

    Besides `species`, words for species, strains and cell lines are read from the text.

    Args:
        genes: The genes.
        species: The species. Others than `organisms`, and those that are tools ("yeast two-hybrid", mice with human
            xenografts), are ignored.
        sentence_starts: Offsets, in their order.
        organisms: The species that can have genes.
        prefixes: The letters before symbols, and their species.
        home: The species that wins if no other one is more frequent.

    Returns:
        The species of each gene, or None if the text says nothing.
    """
    if not genes:
        return []
    tools = _RODENTS if _HOST.search(text) else ()
    named = [
        mention
        for mention in _with_words(text, species)
        if mention.species in organisms
        and (mention.species == home or mention.species not in tools)
        and not _is_tool(text, mention)
    ]
    in_text = _Text(text, named, sentence_starts, prefixes, home)
    return [in_text.species_of(gene) for gene in genes]


def _with_words(text: str, species: Iterable[SpeciesMention]) -> list[SpeciesMention]:
    """Return the species with those that the words of the text name elsewhere, in their order."""
    mentions = sorted(species)
    starts = [mention.start for mention in mentions]
    words = []
    for start, end, name in _words(text):
        before = bisect_left(starts, end)
        if not before or mentions[before - 1].end <= start:
            words.append(SpeciesMention(start, end, name))
    return sorted(mentions + words)


def _words(text: str) -> Iterator[SpeciesMention]:
    for match in _WORD.finditer(text):
        word = match[1].casefold()
        yield SpeciesMention(*match.span(), _SPECIES_OF_WORD.get(word) or _SPECIES_OF_WORD[word.removesuffix("s")])
    for match in _CELL.finditer(text):
        yield SpeciesMention(*match.span(), _CELLS[(match.lastindex or 1) - 1][0])


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
    before, after = text[max(0, mention.start - _REACH) : mention.start], text[mention.end : mention.end + _REACH]
    return _TOOL_BEFORE.search(before) is not None or _TOOL_AFTER.match(after) is not None
