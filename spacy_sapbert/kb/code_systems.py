"""Find the codes of concepts in other vocabularies (code systems), such as ICD-10-CM or SNOMED CT."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from ..errors import ChoiceError, NotFoundError, OptionError
from ..files.console import show_problems
from ..files.opening import sha256_of
from ..types import Link
from .knowledge_base import KnowledgeBase
from .mapping import EXACT, MAP_TARGET, is_exact, read_mapping_rows, vocabulary, vocabulary_of
from .readers.context import ReaderContext, ReadReport

OWN_ID, ALTERNATIVE_ID, XREF = "concept id", "alternative id", "cross-reference"
"""The origins of codes in the vocabulary itself."""

DEFAULT_PREDICATES = ("exact",)
MOST_CONCEPTS = 100_000  # whose codes stay in memory
_MOST_SYSTEMS = 20  # in an error message
_BLOCK = 4096
_DIGIT = "[0-9]"
# canonical ids without a prefix, as patterns of SQLite's GLOB; see `mapping.vocabulary_of`
_BARE = {"UMLS": ["C" + _DIGIT * 7], "MESH": [letter + _DIGIT * digits for letter in "CDQ" for digits in (6, 9)]}
_KINDS = ("exact", "close", "broad", "narrow", "related")
_INVERSE = {"skos:broadmatch": "skos:narrowMatch", "skos:narrowmatch": "skos:broadMatch"}
_SYMMETRIC = EXACT | {"skos:closematch", "skos:relatedmatch"}
_ORDER = ("", "skos:closematch", "skos:narrowmatch", "skos:broadmatch", "skos:relatedmatch")


class Code(NamedTuple):
    """A code of a concept in another vocabulary.

    Attributes:
        system: The vocabulary: the prefix of its ids in canonical form, or "MESH" or "UMLS".
        code: The code as a canonical id, such as "ICD10CM:C50" or "D001943".
        predicate: How the code is related to the concept, as the source states it: with "skos:broadMatch", the code is
            broader. Empty if the source does not state it.
        origin: Where the code comes from: "concept id", "alternative id", "cross-reference" or the name of a mapping
            file. ", via ID" follows if the mapping is one of a cross-reference or of an exact match.
    """

    system: str
    code: str
    predicate: str
    origin: str


def parse_predicates(given: Iterable[str]) -> frozenset[str]:
    """Return predicates in lower case.

    Args:
        given: "exact", "close", "broad", "narrow", "related", or CURIEs. Each may hold several, joined by commas.
            "exact" stands for all of `mapping.EXACT`.

    Raises:
        ChoiceError: One is neither.
    """
    predicates: set[str] = set()
    for text in chain.from_iterable(texts.split(",") for texts in given):
        predicate = text.strip().lower()
        if predicate == "exact":
            predicates |= EXACT
        elif predicate in _KINDS:
            predicates.add(f"skos:{predicate}match")
        elif predicate.partition(":")[1] and all(predicate.partition(":")[::2]):
            predicates.add(predicate)
        else:
            choices = [*_KINDS, "a CURIE such as skos:exactMatch"]
            raise ChoiceError(given=text.strip(), what="predicate of a mapping", choices=choices)
    return frozenset(predicates)


def parse_systems(given: Iterable[str]) -> tuple[str, ...]:
    """Return the names of code systems in canonical spelling, each once.

    Args:
        given: Names in upper or lower case. Each text may hold several, joined by commas.

    Raises:
        OptionError: There is none.
    """
    names = [name.strip() for name in chain.from_iterable(text.split(",") for text in given)]
    systems = tuple(dict.fromkeys(vocabulary(name) for name in names if name))
    if not systems:
        raise OptionError(option="The list of code systems", reason="it is empty", remedy="Name one, such as ICD10CM.")
    return systems


def read_code_mappings(paths: Iterable[Path], report: ReadReport | None = None) -> Mapping[str, Sequence[Code]]:
    """Read what ids are mapped to, in both directions. The origin of a code is the name of its file.

    An SSSOM table gives predicates. A table of two columns gives none. See `read_mapping_rows` for the formats.

    Args:
        paths: The files, plain or gzipped.
    """
    mapped: defaultdict[str, list[Code]] = defaultdict(list)
    for path in map(Path, paths):
        context = ReaderContext(path, source=path.name, report=report or ReadReport())
        for subject, predicate, target, *advice in read_mapping_rows(context):
            origin = ": ".join([path.name, *filter(None, advice)])
            mapped[subject].append(Code(vocabulary_of(target), target, predicate, origin))
            folded = predicate.lower()
            inverse = _INVERSE.get(folded, predicate if not folded or folded in _SYMMETRIC else None)
            if inverse is not None:
                mapped[target].append(Code(vocabulary_of(subject), subject, inverse, path.name))
    return dict(mapped)


class CodeSystems:
    """Finds the codes of concepts in some code systems.

    The codes of a concept are its ids, its cross-references and what mappings relate to one of its ids. They are also
    what mappings relate to a cross-reference or to an exact match of the concept. A code with a stated predicate must
    have one of `predicates`. A code without one is always taken, since ontologies rarely state it.

    Args:
        systems: Names of code systems, see `parse_systems`.
        mappings: Files of mappings, see `read_code_mappings`.
        predicates: Which stated predicates are taken, see `parse_predicates`.

    Attributes:
        kb: The vocabulary.
        systems: The code systems in canonical spelling.

    Raises:
        NotFoundError: No concept and no mapping has a code of a system.
        ChoiceError: A predicate cannot be read.
        OptionError: There is no system.
    """

    def __init__(
        self,
        kb: KnowledgeBase,
        systems: Iterable[str],
        mappings: Iterable[Path] = (),
        *,
        predicates: Iterable[str] = DEFAULT_PREDICATES,
        report: ReadReport | None = None,
    ) -> None:
        self.kb = kb
        self.systems = parse_systems(systems)
        self._predicates = parse_predicates(predicates)
        self._mapped = read_code_mappings(mappings, report)
        self._read: dict[str, tuple[Code, ...]] = {}
        self._check()

    def of(self, concept_ids: Sequence[str]) -> dict[str, tuple[Code, ...]]:
        """Return the codes of concepts by primary id. All are read at once, and kept for the next call.

        The codes are in the order of the systems, the most exact first. A code with several origins occurs several
        times.
        """
        if len(self._read) > MOST_CONCEPTS:
            self._read.clear()
        known = {concept_id: self._read[concept_id] for concept_id in concept_ids if concept_id in self._read}
        missing = [concept_id for concept_id in dict.fromkeys(concept_ids) if concept_id not in known]
        ids, xrefs = self.kb.ids_of(missing), self.kb.xrefs_of(missing)
        read = {missed: self._codes(ids[missed] or (missed,), xrefs[missed]) for missed in missing}
        self._read.update(read)
        return known | read

    def codes_of(self, link: Link) -> tuple[Code, ...]:
        """Return the codes of a link of `span._.links`. A link without a concept has none."""
        return self.of([link.concept_id])[link.concept_id] if link.concept_id else ()

    def all(self) -> Iterator[tuple[str, tuple[Code, ...]]]:
        """Yield each concept of the vocabulary that has codes, with them, in row order."""
        concept_ids = self.kb.concept_ids()
        while block := list(islice(concept_ids, _BLOCK)):
            yield from ((concept_id, codes) for concept_id, codes in self.of(block).items() if codes)

    def _codes(self, ids: Sequence[str], xrefs: Iterable[tuple[str, str]]) -> tuple[Code, ...]:
        origins = (OWN_ID, *(ALTERNATIVE_ID for _ in ids[1:]))
        own = [Code(vocabulary_of(id), id, "", origin) for id, origin in zip(ids, origins, strict=True)]
        related = [Code(vocabulary_of(xref), xref, predicate, XREF) for xref, predicate in xrefs]
        mapped = [code for concept_id in ids for code in self._mapped.get(concept_id, ())]
        combined = [
            Code(then.system, then.code, then.predicate if other.predicate else "", f"{then.origin}, via {other.code}")
            for other in (*mapped, *related)
            if is_exact(other.predicate) and other.code not in ids
            for then in self._mapped.get(other.code, ())
            # what is related to a cross-reference of unknown meaning is related in an unknown way
            if then.code not in ids and (other.predicate or is_exact(then.predicate))
        ]
        taken = {
            code
            for code in (*own, *related, *mapped, *combined)
            if code.system in self.systems
            and (code.predicate in ("", MAP_TARGET) or code.predicate.lower() in self._predicates)
        }
        return tuple(sorted(taken, key=self._sort_key))

    def _sort_key(self, code: Code) -> tuple[int, int, Code]:
        predicate = code.predicate.lower()
        order = _ORDER.index(predicate) if predicate in _ORDER else len(_ORDER)
        return self.systems.index(code.system), -1 if predicate and is_exact(predicate) else order, code

    # --- which systems there are

    def _check(self) -> None:
        mapped = {code.system for codes in self._mapped.values() for code in codes}
        missing = [system for system in self.systems if system not in mapped and not self._in_vocabulary(system)]
        if missing:
            counts = sorted(self._counts().items(), key=lambda item: (-item[1], item[0]))[:_MOST_SYSTEMS]
            known = ", ".join(f"{system} ({count:,})" for system, count in counts) or "none"
            remedy = f"The vocabulary has codes of: {known}. Check the name, or give a mapping with such codes."
            what = f"code of {', '.join(missing)} for a concept of {self.kb.path.name}"
            raise NotFoundError(what=what, remedy=remedy)

    def _in_vocabulary(self, system: str) -> bool:
        """Return whether any concept has a code of the system, by the indexes of the file."""
        bounds = f"{system}:", f"{system};"  # a semicolon follows a colon in every encoding
        patterns = _BARE.get(system)
        for table, column in (("xrefs", "xref"), ("ids", "id")):
            where = " OR ".join([f"{column} GLOB ?"] * len(patterns or ())) or f"{column} >= ? AND {column} < ?"
            if self.kb.query(f"SELECT 1 FROM {table} WHERE {where} LIMIT 1", *(patterns or bounds)):
                return True
        return False

    def _counts(self) -> Counter[str]:
        """Count the codes of each system in the vocabulary, without the primary ids of its concepts."""
        rows = self.kb.query(
            "SELECT DISTINCT xref FROM xrefs UNION SELECT i.id FROM ids i JOIN concepts c ON c.row = i.concept "
            "WHERE i.id != c.id"
        )
        counts = Counter(vocabulary_of(code) for (code,) in rows)
        del counts[""]
        return counts


@dataclass(frozen=True)
class CodeOptions:
    """Which codes to add, and from which mappings. Equal ones are equal in every process, so that a worker loads once.

    Attributes:
        systems: The code systems.
        mappings: The mapping files.
        predicates: Which stated relations give a code.
        console: Gets a report of the rows of the mappings, but not in other processes.
    """

    systems: tuple[str, ...]
    mappings: tuple[Path, ...]
    predicates: tuple[str, ...]
    console: Console | None = field(default=None, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return CodeOptions, (self.systems, self.mappings, self.predicates)

    @classmethod
    def of(
        cls,
        systems: Iterable[str],
        mappings: Iterable[Path] | None,
        console: Console | None = None,
        predicates: Sequence[str] | None = None,
    ) -> CodeOptions:
        """Return the options. What cannot be read is an error before a pipeline is loaded."""
        chosen = tuple(predicates or DEFAULT_PREDICATES)
        parse_predicates(chosen)
        return cls(parse_systems(systems), tuple(path.absolute() for path in mappings or ()), chosen, console)

    def __call__(self, kb: KnowledgeBase) -> CodeSystems:
        """Return the codes of a vocabulary, and report the rows of the mappings."""
        report = ReadReport()
        codes = CodeSystems(kb, self.systems, self.mappings, predicates=self.predicates, report=report)
        if self.mappings and self.console:
            dropped = "".join(f"; {count:,} {reason}" for reason, count in sorted(report.rows_dropped.items()))
            self.console.print(f"mappings: {report.rows_kept:,} of {report.rows_read:,} rows{dropped}", markup=False)
            show_problems(self.console, report.problems, 0)
        return codes

    def identity(self) -> dict[str, Any]:
        """Return what the codes depend on, besides the vocabulary: JSON values by name."""
        hashes = [sha256_of(path) for path in self.mappings]
        return {"codes": list(self.systems), "mappings": hashes, "predicates": sorted(self.predicates)}
