"""Match the concepts of several vocabularies. `spacy-sapbert kb build --mapping` then merges the concepts that match.

    python scripts/match_concepts.py mesh.kb doid.kb … --mapping mondo.sssom.tsv --output matches.sssom.tsv

The evidence for a match, the surest first:

1. the same preferred name;
2. a mapping made for these vocabularies;
3. a cross-reference between concepts that share a name;
4. the preferred name of one is a synonym of the other;
5. several shared synonyms. For chemicals one is enough, because systematic names do not coincide by chance.

A name is no evidence if a vocabulary has it twice. A cross-reference is no evidence if it is not one to one. A
vocabulary separates its own concepts, so a match that would merge two of them is dropped.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.files.console import show, stderr_console, track
from spacy_sapbert.files.opening import open_text
from spacy_sapbert.files.output import open_output
from spacy_sapbert.kb.export import stream_records
from spacy_sapbert.kb.ids import canonical_id, vocabulary_of
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.mapping import Equivalents, MappedIds, one_to_one, read_mappings
from spacy_sapbert.text.normalize import biosyn, lower
from spacy_sapbert.types import Record

# Kinds of concepts by semantic type, by branch of MeSH's tree, and by the highest classes of the NCI Thesaurus and of
# ORDO. The first match counts.
_KINDS = {
    **dict.fromkeys(("disease", "disease_ontology", "C", "F03"), "disorder"),
    **dict.fromkeys(("NCIT:C7057", "NCIT:C3910", "NCIT:C12913", "Orphanet:C001"), "disorder"),
    **dict.fromkeys(("chemical", "chebi_ontology", "D", "NCIT:C1908"), "chemical"),
    **dict.fromkeys(("anatomy", "cell", "A", "NCIT:C12219"), "anatomy"),
    **dict.fromkeys(("gene", "NCIT:C16612", "NCIT:C26548", "Orphanet:C010"), "gene"),
    **dict.fromkeys(("species", "B", "NCIT:C14250"), "species"),
    **dict.fromkeys(("process", "G", "NCIT:C17828", "NCIT:C20633"), "process"),
    "cell line": "cell line",
}
_SYMBOLS = frozenset({"gene", "cell line", "species"})
"""Kinds with codes and abbreviations as names. These have many other meanings."""
_FORMULAS = _SYMBOLS | {"chemical"}
"""Kinds with names in which word order and punctuation matter."""

_TREE_NUMBER = re.compile(r"(F03|[A-Z])(?:\d\d)?(?:\.\d+)*")  # F03: mental disorders
_PREFIXES = {"NCI": "NCIT", "ORDO": "Orphanet", "ORPHANET": "Orphanet"}
"""Prefixes in cross-references that differ from the prefix of the ids."""
_NEOPLASM = re.compile(r"\b(?:neoplasm|cancer|tumou?r)s?\b")
_FILLERS = frozenset({"of", "the", "and", "in"})
_MAPPING_COLUMNS = 6
_MIN_CHARACTERS = 4
"""Of a single name that vouches for a match: shorter ones are abbreviations."""

_HEADER = ("subject_id", "predicate_id", "object_id", "mapping_justification", "comment")


class Term(NamedTuple):
    """A concept of a vocabulary, with the evidence for its matches.

    preferred (str): its preferred name in normal form; empty if the vocabulary has none.
    names (tuple[str, ...]): its unique names in normal form.
    kind (str | None): one of `_KINDS`, if known.
    """

    concept_id: str
    vocabulary: str
    preferred: str
    names: tuple[str, ...]
    kind: str | None
    xrefs: tuple[str, ...]


Pairs = Iterable[tuple[Term, Term]]


class Matches:
    """The matches so far, and the classes of concepts that follow from them."""

    def __init__(self) -> None:
        self._classes = Equivalents()
        self._members: dict[str, dict[str, str]] = {}
        self.found: list[tuple[str, str, str]] = []
        self.counts: Counter[str] = Counter()

    def add(self, one: Term, other: Term, evidence: str) -> None:
        """Match two concepts, unless their class would then have two concepts of one vocabulary."""
        roots = self._classes.find(one.concept_id), self._classes.find(other.concept_id)
        if roots[0] == roots[1]:
            return
        first, second = (
            self._members.get(root, {term.vocabulary: term.concept_id})
            for root, term in zip(roots, (one, other), strict=True)
        )
        if any(first[vocabulary] != second[vocabulary] for vocabulary in first.keys() & second.keys()):
            self.counts[f"{evidence}: refused"] += 1
            return
        self._classes.join(*roots)
        self._members[self._classes.find(roots[0])] = {**first, **second}
        self.found.append((one.concept_id, other.concept_id, evidence))
        self.counts[evidence] += 1


# --- concepts


def read_terms(kbs: Iterable[Path]) -> dict[str, Term]:
    """Return the concepts of all knowledge bases by id. Entries with the same id are joined."""
    records: defaultdict[str, list[Record]] = defaultdict(list)
    for path in kbs:
        for record in track(stream_records(KnowledgeBase(path)), stderr_console(), f"concepts of {path.stem}"):
            records[record.concept_id].append(record._replace(definition=None))
    marks = {concept_id: set(_marks(of)) for concept_id, of in records.items()}
    parents = {concept_id: {parent for record in of for parent in record.parents} for concept_id, of in records.items()}
    return {concept_id: _term(of, _lineage_marks(concept_id, marks, parents)) for concept_id, of in records.items()}


def _marks(records: Iterable[Record]) -> Iterator[str]:
    """Yield the id, and the semantic types. A MeSH tree number is replaced by its branch."""
    for record in records:
        yield record.concept_id
        for type_ in record.types:
            number = _TREE_NUMBER.fullmatch(type_)
            yield number[1] if number else type_


def _lineage_marks(concept_id: str, marks: dict[str, set[str]], parents: dict[str, set[str]]) -> set[str]:
    """Return the marks of a concept. If they give no kind, the marks of its ancestors are added."""
    found, seen, above = set(marks[concept_id]), {concept_id}, parents[concept_id]
    while above and found.isdisjoint(_KINDS):
        above = {parent for parent in above if parent in marks and parent not in seen}
        seen |= above
        found.update(*(marks[parent] for parent in above))
        above = set().union(*(parents[parent] for parent in above))
    return found


def _term(records: list[Record], marks: set[str]) -> Term:
    concept_id, names = records[0].concept_id, [name for record in records for name in record.names]
    preferred = next((lower(name.text) for name in names if name.scope == "preferred"), "")
    kind = next((kind for mark, kind in _KINDS.items() if mark in marks), None)
    xrefs = dict.fromkeys(_with_known_prefix(xref) for record in records for xref in record.xrefs)
    vocabulary = vocabulary_of(concept_id) or names[0].source
    unique = dict.fromkeys(lower(name.text) for name in names)
    return Term(concept_id, vocabulary, preferred, tuple(unique), kind, tuple(xrefs))


def _with_known_prefix(xref: str) -> str:
    prefix, colon, local = xref.partition(":")
    return f"{_PREFIXES.get(prefix, prefix)}{colon}{local}"


# --- evidence, in the order in which matches are made


def same_preferred_name(terms: Iterable[Term]) -> Pairs:
    for owners in sole_owners(terms, lambda term: [term.preferred]).values():
        for one, other in combinations(owners, 2):
            # terms of EFO and MeSH, for example, have no known kind
            if one.kind == other.kind or (
                None in (one.kind, other.kind) and _SYMBOLS.isdisjoint((one.kind, other.kind))
            ):
                yield one, other


def same_words(terms: Iterable[Term]) -> Pairs:
    """Match preferred names that differ only in word order, number or punctuation."""
    wordy = (term for term in terms if term.preferred and term.kind not in _FORMULAS)
    for owners in sole_owners(wordy, lambda term: [words(term.preferred)]).values():
        yield from ((one, other) for one, other in combinations(owners, 2) if one.kind == other.kind)


def mapped(terms: dict[str, Term], path: Path) -> Pairs:
    """path (Path): MeSH mappings of Gilda: prefix, id and name of both sides."""
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            columns = line.rstrip("\n").split("\t")
            if len(columns) != _MAPPING_COLUMNS:
                reason = f"{_MAPPING_COLUMNS} columns are wanted, there are {len(columns)}"
                raise typer.BadParameter(f"{path}, line {number}: {reason}", param_hint="--mesh-mappings")
            _, one, _, prefix, other, _ = columns
            ids = one, canonical_id(other if ":" in other or prefix == "FPLX" else f"{prefix}:{other}")
            if all(concept_id in terms for concept_id in ids):
                yield terms[ids[0]], terms[ids[1]]


def neoplasms(terms: dict[str, Term]) -> Pairs:
    """Match cross-references such as from "breast cancer" to "breast neoplasms".

    Benign and malignant concepts refer to the same neoplasm of MeSH. In MeSH it means cancer: "Breast Cancer" is an
    entry term of "Breast Neoplasms".
    """
    for term in terms.values():
        for other in (terms[xref] for xref in term.xrefs if xref in terms):
            same = _as_neoplasm(term.preferred) == _as_neoplasm(other.preferred)
            if same and _NEOPLASM.search(other.preferred) and words(term.preferred) != words(other.preferred):
                yield other, term


def _as_neoplasm(name: str) -> str:
    return words(_NEOPLASM.sub("neoplasm", name))


def cross_referenced(terms: dict[str, Term], known: Equivalents) -> Pairs:
    """known (Equivalents): the meaning of cross-references to vocabularies that are not among the inputs."""
    links = [MappedIds(0, term.concept_id, known.find(xref)) for term in terms.values() for xref in term.xrefs]
    referring: defaultdict[str, list[Term]] = defaultdict(list)
    for link in one_to_one(links)[0]:
        referring[link.xref].append(terms[link.concept_id])
    for xref, referrers in referring.items():
        for one, other in combinations([*referrers, *filter(None, [terms.get(xref)])], 2):
            if not set(map(words, one.names)).isdisjoint(map(words, other.names)):
                yield one, other


def preferred_name_is_synonym(terms: dict[str, Term]) -> Pairs:
    owners = sole_owners(terms.values(), lambda term: term.names)
    for term in terms.values():
        others = owners.get(term.preferred, []) if len(term.preferred) >= _MIN_CHARACTERS else []
        if term in others:
            yield from ((term, other) for other in others if other is not term and other.kind == term.kind)


def shared_synonyms(terms: Iterable[Term]) -> Pairs:
    """Match concepts that share names, the pairs with the most shared names first."""
    shared: Counter[tuple[str, str]] = Counter()
    by_id = {term.concept_id: term for term in terms if term.kind and term.kind not in _SYMBOLS}
    for name, owners in sole_owners(by_id.values(), lambda term: term.names).items():
        # one name is enough for chemicals, so short names must not count
        for one, other in combinations(owners, 2) if len(name) >= _MIN_CHARACTERS else ():
            if one.kind == other.kind:
                shared[one.concept_id, other.concept_id] += 1
    for (one_id, other_id), n in shared.most_common():
        if n > 1 or by_id[one_id].kind == "chemical":
            yield by_id[one_id], by_id[other_id]


def sole_owners(terms: Iterable[Term], names: Callable[[Term], Iterable[str]]) -> dict[str, list[Term]]:
    """Return, for each name, its concepts in vocabularies that have it only once."""
    owners: defaultdict[str, list[Term]] = defaultdict(list)
    for term in terms:
        for name in names(term):
            owners[name].append(term)
    found = {}
    for name, of in owners.items():
        n_of = Counter(term.vocabulary for term in of)
        if name and len(n_of) > 1:
            found[name] = [term for term in of if n_of[term.vocabulary] == 1]
    return found


def words(name: str) -> str:
    """Return the words of a name without plural endings, sorted: "Neoplasms, Lung" is "lung neoplasm"."""
    found = biosyn(name.replace("'s", "")).split()
    return " ".join(sorted(map(_singular, (word for word in found if word not in _FILLERS))))


def _singular(word: str) -> str:
    is_plural = len(word) > 4 and word.endswith("s") and not word.endswith(("ss", "is", "us"))
    return word[:-1] if is_plural else word


# --- the command


def main(
    kbs: Annotated[list[Path], typer.Argument(help="Knowledge bases, one per vocabulary, the most reliable first.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Mapping file to write (SSSOM).")],
    mapping: Annotated[list[Path] | None, typer.Option(help="Meaning of cross-references (SSSOM).")] = None,
    mesh_mappings: Annotated[Path | None, typer.Option(help="MeSH mappings of Gilda.")] = None,
) -> None:
    """Match the concepts of several vocabularies."""
    terms = read_terms(kbs)
    evidence: dict[str, Pairs] = {
        "cross-reference to a neoplasm": neoplasms(terms),
        "preferred name": same_preferred_name(terms.values()),
        "words of the preferred name": same_words(terms.values()),
        "mapping": mapped(terms, mesh_mappings) if mesh_mappings else [],
        "cross-reference and name": cross_referenced(terms, read_mappings(mapping or [])),
        "preferred name and synonym": preferred_name_is_synonym(terms),
        "synonyms": shared_synonyms(terms.values()),
    }
    matches = Matches()
    for name, pairs in evidence.items():
        for one, other in pairs:
            matches.add(one, other, name)
    with open_output(output) as write:
        for row in (_HEADER, *(_row(*match) for match in matches.found)):
            write("\t".join(row) + "\n")
    show(matches.counts)


def _row(one: str, other: str, evidence: str) -> tuple[str, ...]:
    return one, "skos:exactMatch", other, "semapv:LexicalMatching", evidence


if __name__ == "__main__":
    try:
        typer.run(main)
    except SapbertError as error:
        raise SystemExit(str(error)) from None
