"""Write tables for the vocabulary in the package. `spacy-sapbert kb build configs/vocabularies/box.yaml` reads them.

    python scripts/box_vocabulary.py diseases doid.kb ordo.kb … --matches matches.sssom.tsv -o diseases.tsv
    python scripts/box_vocabulary.py chemicals --pubchem PubChem.tsv.gz … -o chemicals.tsv
    python scripts/box_vocabulary.py species taxa.tsv --own-names own_names.tsv -o species.tsv
    python scripts/box_vocabulary.py mentioned lines.tsv FILES… --without ids_of_documents.txt -o ids.txt
    python scripts/box_vocabulary.py annotated CORPORA… --without ids_of_documents.txt -o mesh_ids.tsv
    python scripts/box_vocabulary.py cell-lines lines.tsv --ids ids.txt -o cell_lines.tsv

Diseases and chemicals are those of MeSH. The table of its descriptors lacks many entry terms, so other vocabularies
give names to the concepts that they match. A name that could belong to several concepts goes to the one with the best
claim, or to none: see `Claim`.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from match_concepts import read_terms, words
from vocabularies import rows

from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.files.opening import open_text
from spacy_sapbert.files.output import open_output
from spacy_sapbert.kb.export import stream_records
from spacy_sapbert.kb.ids import canonical_id, vocabulary_of
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.mapping import Equivalents, MappedIds, one_to_one, read_mappings
from spacy_sapbert.text.normalize import lower
from spacy_sapbert.text.words import MAX_ACRONYM
from spacy_sapbert.types import Name, Record

HEADER = ("id", "name", "synonyms", "alternative_ids", "types", "parents", "xrefs", "source")
DISEASES, CHEMICALS = ("C", "F03"), ("D",)  # branches of MeSH's tree
MESH, OWN = "MeSH", "spacy-sapbert"
XREFS = frozenset({"UMLS", "ICD10CM", "DOID", "NCIT", "Orphanet", "GARD", "EFO", "SYMP", "UNII", "DRUGBANK"})
EXACT = ("preferred", "exact")
LONGEST = 60  # characters of a name that MeSH does not have
GARD = "GARD:"
RARE = GARD, "Orphanet:"
NO_DISEASE = re.compile(r"^(?:NON RARE|OBSOLETE|Rare )|\bclassification\b", re.IGNORECASE)  # in ORDO: groups, notes
LATER = 4  # ranks of claims of diseases that MeSH lacks, after the others
# Forms of a disease that have numbers: annotators mean the disease itself, and a text without the number does
NUMBERED = re.compile(r"\d[a-z]?$|\b[IVX]+[a-z]?$|\btype \w+\b|^\w+\d+$", re.IGNORECASE)
NEOPLASM = re.compile(r"([^,]+) neoplasms?", re.IGNORECASE)
TAXON = "NCBITaxon:"
ABBREVIATED = re.compile(r"([A-Z]\.)(\S.*)")
WORD = re.compile(r"\w+")
FEWEST, MOST_WORDS = 3, 5  # letters and digits of the name of a cell line; words

Names = dict[str, list[str]]
Output = Annotated[Path, typer.Option("--output", "-o")]
Descriptors = Annotated[Path, typer.Option(help="MeSH: id, name, synonyms joined by |")]
Tree = Annotated[Path, typer.Option(help="MeSH: tree number, id, name")]
Mappings = Annotated[Path, typer.Option(help="MeSH: vocabulary, id, name, other vocabulary, other id, name")]
OwnNames = Annotated[list[Path], typer.Option(help="Lines of an id and a name, separated by a tab")]
app = typer.Typer(add_completion=False, no_args_is_help=True)


class Claim(NamedTuple):
    """A name that a source gives to a concept.

    rank (int): claims with the lowest rank are the best: names in MeSH, own names, preferred names of matched concepts,
        then their synonyms. Descriptors come before supplementary records.
    """

    rank: int
    concept_id: str
    name: str
    source: str


class Mesh:
    """The files of MeSH: descriptors, their tree, and mappings of Gilda."""

    def __init__(self, descriptors: Path, tree: Path, mappings: Path) -> None:
        table = rows(descriptors, 3)
        self.names = {row[0]: list(dict.fromkeys([row[1], *filter(None, row[2].split("|"))])) for row in table}
        self._ids = {row[0]: row[1] for row in rows(tree, 3)}
        self._numbers: defaultdict[str, list[str]] = defaultdict(list)
        for number, concept_id in self._ids.items():
            self._numbers[concept_id].append(number)
        self.mappings = [row[1:5] for row in rows(mappings, 6)]

    def __contains__(self, concept_id: str) -> bool:
        return concept_id in self._numbers

    def below(self, branches: tuple[str, ...]) -> set[str]:
        return {concept_id for number, concept_id in self._ids.items() if number.startswith(branches)}

    def parents(self, concept_id: str) -> list[str]:
        above = [number.rpartition(".")[0] for number in self._numbers.get(concept_id, ())]
        return list(dict.fromkeys(self._ids[number] for number in above if number in self._ids))


@app.command()
def diseases(
    kbs: list[Path],
    descriptors: Descriptors,
    tree: Tree,
    mesh_mappings: Mappings,
    matches: Annotated[Path, typer.Option(help="Matches of MeSH and the other vocabularies")],
    own_names: OwnNames,
    chemicals: Annotated[Path, typer.Option(help="The table of chemicals, which are no diseases")],
    output: Output,
) -> None:
    """Write the diseases and symptoms of MeSH, and the rare ones that it lacks and OMIM has.

    Without an id of OMIM, rare diseases took more mentions of broader ones than they explained.
    """
    files, records, classes = Mesh(descriptors, tree, mesh_mappings), disorders(kbs), read_mappings([matches])
    # descriptors that are newer than the tree are diseases if they match some
    matched_classes = {classes.find(concept_id) for concept_id in records if concept_id.startswith(("DOID", "Orpha"))}
    branch = files.below(DISEASES)
    branch |= {id for id in files.names if id not in files and classes.find(id) in matched_classes}
    names: Names = {concept_id: texts for concept_id, texts in files.names.items() if concept_id in branch}
    mapping: defaultdict[str, list[str]] = defaultdict(list)
    for concept_id, name, prefix, other in files.mappings:
        if prefix in ("DOID", "EFO") and (concept_id.startswith("C") or concept_id in branch):
            mapping[canonical_id(other if ":" in other else f"{prefix}:{other}")].append(concept_id)
            names.setdefault(concept_id, [name])
    known = files.names.keys() | {row[0] for row in rows(chemicals, 1)}
    own = {id: texts for id, texts in read_own_names(own_names).items() if id in names or is_new(id, known)}
    for concept_id, texts in names.items():
        cancers = [f"{match[1]} Cancer" for text in texts if (match := NEOPLASM.fullmatch(text))]
        own.setdefault(concept_id, []).extend(cancers)
    others = matching(names, records, classes, mapping)
    found = rare_diseases(records, classes, others)
    alternatives = omim_ids({**others, **found})
    new = {id: of_concept for id, of_concept in found.items() if id in alternatives}
    claims = [
        *(Claim(0, id, text, MESH) for id, texts in files.names.items() for text in texts),
        *(Claim(0, id, text, MESH) for id, texts in names.items() if id not in files.names for text in texts),
        *(Claim(1, id, text, OWN) for id, texts in own.items() for text in texts),
        *(claim for id, of_concept in others.items() for claim in claims_of(id, of_concept)),
        *(claim for id, of_concept in new.items() for claim in claims_of(id, of_concept, LATER)),
    ]
    others |= new
    xrefs = {id: [*filter(is_shown, dict.fromkeys(ids_of(of_concept)))] for id, of_concept in others.items()}
    concepts = granted(claims, words, names.keys() | own.keys() | new.keys())
    write_table(output, "Disease", concepts, files.parents, alternatives, xrefs)


def is_new(id: str, known: Collection[str]) -> bool:
    """Return whether an id is that of a disease which no table has."""
    return id not in known and not id.startswith(TAXON)


def disorders(kbs: list[Path]) -> dict[str, Record]:
    terms = read_terms(kbs)
    every = (record._replace(definition=None) for kb in kbs for record in stream_records(KnowledgeBase(kb)))
    return {record.concept_id: record for record in every if terms[record.concept_id].kind in (None, "disorder")}


def read_own_names(paths: Iterable[Path]) -> Names:
    names: defaultdict[str, list[str]] = defaultdict(list)
    for path in paths:
        for concept_id, name in rows(path, 2):
            names[concept_id].append(name)
    return names


def matching(
    concepts: Collection[str], records: Mapping[str, Record], classes: Equivalents, mapping: Mapping[str, list[str]]
) -> dict[str, list[Record]]:
    """Return the records that mean the same as a concept of MeSH: by match, or by a one-to-one cross-reference.

    A reference counts only if no other concept of its vocabulary matches. It may add supplementary records of MeSH.
    """
    of_class = {classes.find(concept_id): concept_id for concept_id in concepts}
    found: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records.values():
        if concept_id := of_class.get(classes.find(record.concept_id)):
            found[concept_id].append(record)
    taken = {(id, vocabulary_of(record.concept_id)) for id, of_concept in found.items() for record in of_concept}
    matched = {record.concept_id for of_concept in found.values() for record in of_concept}
    links = [
        MappedIds(0, record.concept_id, xref)
        for record in records.values()
        if record.concept_id not in matched
        for xref in {*record.xrefs, *mapping.get(record.concept_id, ())}
        if vocabulary_of(xref) == "MESH" and (xref in concepts or xref.startswith("C"))
    ]
    for link in sorted(one_to_one(links)[0]):
        if (link.xref, vocabulary_of(link.concept_id)) not in taken:
            found[link.xref].append(records[link.concept_id])
    return found


def rare_diseases(
    records: Mapping[str, Record], classes: Equivalents, known: Mapping[str, list[Record]]
) -> dict[str, list[Record]]:
    """Return the rare diseases that no concept of MeSH is, by their first id in the order of the vocabularies."""
    matched = {record.concept_id for of_concept in known.values() for record in of_concept}
    by_class: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records.values():
        if record.concept_id not in matched:
            by_class[classes.find(record.concept_id)].append(record)
    rare = (of for of in by_class.values() if any(record.concept_id.startswith(RARE) for record in of))
    return {of[0].concept_id: of for of in rare if not any(NO_DISEASE.search(of[0].names[0].text) for record in of)}


def claims_of(concept_id: str, records: Iterable[Record], least: int = 0) -> Iterator[Claim]:
    for record in records:
        for name in record.names:
            if is_usable(name, record.concept_id.startswith(GARD), bool(least)):
                rank = 2 + 2 * (name.scope != "preferred") + (not concept_id.startswith("D")) + least
                yield Claim(rank, concept_id, name.text, vocabulary_of(record.concept_id))


def is_usable(name: Name, in_gard: bool, is_new: bool) -> bool:
    """Return whether a name is one of its concept. GARD states no scopes, and writes acronyms in small letters."""
    if len(name.text) > LONGEST or not (in_gard or name.scope in EXACT):
        return False
    if in_gard and (len(name.text) <= MAX_ACRONYM or "^" in name.text):
        return False
    return not ((in_gard or is_new) and NUMBERED.search(name.text))


def granted(
    claims: Iterable[Claim], key: Callable[[str], str], concepts: Collection[str] = ()
) -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Yield each concept with the names that it gets, by source. Other descriptors of MeSH keep theirs."""
    ranked = sorted(claims, key=attrgetter("rank"))
    best: dict[str, int] = {}
    holders: defaultdict[str, set[str]] = defaultdict(set)
    for claim in ranked:
        if best.setdefault(key(claim.name), claim.rank) == claim.rank:
            holders[key(claim.name)].add(claim.concept_id)
    names: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    seen: set[tuple[str, str]] = set()
    for claim in ranked:
        is_granted = claim.rank == 0 or holders[key(claim.name)] == {claim.concept_id}
        if is_granted and (claim.concept_id, lower(claim.name)) not in seen:
            seen.add((claim.concept_id, lower(claim.name)))
            names[claim.concept_id][claim.source].append(claim.name)
    for concept_id in sorted(names):
        if not concepts or concept_id in concepts or concept_id.startswith("C"):
            yield concept_id, names[concept_id]


def omim_ids(others: Mapping[str, list[Record]]) -> dict[str, list[str]]:
    """Return the ids of OMIM that mean exactly one concept, by the one-to-one references of a vocabulary."""
    concepts = {record.concept_id: id for id, of_concept in others.items() for record in of_concept}
    links = [
        MappedIds(0, record.concept_id, xref)
        for of_concept in others.values()
        for record in of_concept
        for xref in record.xrefs
        if xref.startswith("OMIM:") and xref[len("OMIM:") :].isdigit()  # no series of phenotypes
    ]
    owners: dict[str, str] = {}
    for link in sorted(one_to_one(links)[0]):  # DOID comes before Orphanet
        owners.setdefault(link.xref, concepts[link.concept_id])
    ids: defaultdict[str, list[str]] = defaultdict(list)
    for omim_id, concept_id in owners.items():
        ids[concept_id].append(omim_id)
    return ids


def ids_of(records: Iterable[Record]) -> Iterator[str]:
    for record in records:
        yield from (record.concept_id, *record.alternative_ids, *record.xrefs)


def is_shown(xref: str) -> bool:
    return vocabulary_of(xref) in XREFS


def write_table(
    output: Path,
    type: str,
    concepts: Iterable[tuple[str, Mapping[str, list[str]]]],
    parents_of: Callable[[str], list[str]],
    alternatives: Mapping[str, list[str]],
    xrefs: Mapping[str, list[str]],
) -> None:
    """Write one row for each source of the names of a concept."""
    counts: Counter[str] = Counter()
    table = dict(concepts)
    with open_output(output) as write:
        write("\t".join(HEADER) + "\n")
        for concept_id, sources in table.items():
            counts["concepts"] += 1
            for number, (source, names) in enumerate(sources.items()):
                name, *synonyms = (" ".join(name.replace("|", " ").split()) for name in names)
                parents = [parent for parent in parents_of(concept_id) if parent in table]
                lists = (synonyms, alternatives.get(concept_id, ()), [type], parents)
                cells = [*lists, xrefs.get(concept_id, ())] if not number else [synonyms, (), [type], (), ()]
                write("\t".join((concept_id, name, *map("|".join, cells), source)) + "\n")
                counts[source] += len(names)
    typer.echo(f"{output}: {json.dumps(counts)}", err=True)


@app.command()
def chemicals(
    descriptors: Descriptors,
    tree: Tree,
    mesh_mappings: Mappings,
    pubchem: Annotated[Path, typer.Option(help="name, CID")],
    compounds: Annotated[Path, typer.Option(help="CID, id of MeSH")],
    own_names: OwnNames,
    output: Output,
) -> None:
    """Write the chemicals of MeSH: descriptors, and the supplementary records that are mapped to ChEBI or PubChem."""
    files = Mesh(descriptors, tree, mesh_mappings)
    compounds_of = [MappedIds(0, f"PubChem:{cid}", id) for cid, id in rows(compounds, 2)]
    xrefs: defaultdict[str, list[str]] = defaultdict(list)
    labels: dict[str, str] = {}
    for concept_id, name, prefix, other in files.mappings:
        if prefix == "CHEBI":
            labels.setdefault(concept_id, name)
            xrefs[concept_id].append(other)
    # descriptors that are newer than the tree are chemicals if others say so
    newer = {id for id in (*labels, *(link.xref for link in compounds_of)) if id not in files}
    branch = files.below(CHEMICALS) | newer
    names: Names = {concept_id: texts for concept_id, texts in files.names.items() if concept_id in branch}
    names |= {id: [name] for id, name in labels.items() if id in branch and id not in names}
    supplementary = {link.concept_id: link.xref for link in one_to_one(compounds_of)[0] if link.xref.startswith("C")}
    own = read_own_names(own_names)
    claims = [
        *(Claim(0, id, text, MESH) for id, texts in names.items() for text in without_inversions(texts)),
        *(Claim(1, id, text, OWN) for id, texts in own.items() if id in names for text in texts),
    ]
    for name, cid, *_ in rows(pubchem, 2):
        concept_id = supplementary.get(f"PubChem:{cid.strip()}")
        if concept_id and len(name) <= LONGEST:
            claims.append(Claim(2, concept_id, name.removeprefix("\ufeff"), "PubChem"))
    write_table(output, "Chemical", granted(claims, lower), files.parents, {}, xrefs)


def without_inversions(names: Iterable[str]) -> list[str]:
    """Return the names without "Acid, Acetic" if "Acetic Acid" is there. The first name stays the first."""
    first, *rest = names
    by_words = {tuple(sorted(lower(name).replace(",", " ").split())): name for name in sorted(rest, key=is_natural)}
    by_words[tuple(sorted(lower(first).replace(",", " ").split()))] = first
    chosen = set(by_words.values())
    return [name for name in dict.fromkeys((first, *rest)) if name in chosen]


def is_natural(name: str) -> bool:
    return ", " not in name


@app.command()
def species(
    concepts: Annotated[Path, typer.Argument(help="id, name, synonyms: a table of scripts/vocabularies.py")],
    own_names: OwnNames,
    output: Output,
) -> None:
    """Leave out abbreviations without a blank, and names of model organisms and the like that others have, too."""
    given = read_own_names(own_names).items()
    own = {id.removeprefix(TAXON): texts for id, texts in given if id.startswith(TAXON)}
    owners = {lower(text): id.removeprefix(TAXON) for id, texts in given for text in texts}
    with open_output(output) as write:
        for id, names in grouped(concepts):
            known = set(names)
            spaced = {name: ABBREVIATED.sub(r"\1 \2", name) for name in names}
            names = [name for name in names if spaced[name] == name or spaced[name] not in known]
            names = [name for name in names if owners.get(lower(name), id) == id]
            known = set(map(lower, names))
            write_group(write, id, [*names, *(text for text in own.pop(id, ()) if lower(text) not in known)])
        for id, names in own.items():  # newer than the taxa
            write_group(write, id, names)


@app.command()
def cell_lines(
    concepts: Annotated[Path, typer.Argument(help="id, name, synonyms: a table of scripts/vocabularies.py")],
    ids: Annotated[Path, typer.Option(help="The cell lines to take")],
    output: Output,
) -> None:
    """Take some cell lines, with the names that are not too short."""
    chosen = {row[0] for row in rows(ids, 1)}
    with open_output(output) as write:
        for id, names in grouped(concepts):
            names = [*filter(is_telling, names)]
            if id in chosen and names:
                write_group(write, id, names)


@app.command()
def mentioned(
    concepts: Annotated[Path, typer.Argument(help="id, name, synonyms: a table of scripts/vocabularies.py")],
    texts: list[Path],
    without: Annotated[Path, typer.Option(help="Ids of documents to leave out")],
    output: Output,
) -> None:
    """Write the ids of the concepts with a name in texts: abstracts as JSON lines, and the ids in PubTator files."""
    left_out = set(without.read_text().split())
    owners: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
    known = set()
    for id, names in grouped(concepts):
        known.add(id)
        for name in filter(is_telling, names):
            owners[tuple(WORD.findall(name))].add(id)
    ids: set[str] = set()
    for text in documents(texts, left_out):
        tokens = WORD.findall(text)
        for start in range(len(tokens)):
            for end in range(start + 1, min(start + MOST_WORDS, len(tokens)) + 1):
                ids |= owners.get(tuple(tokens[start:end]), set())
        ids |= known.intersection(line.rpartition("\t")[2] for line in text.splitlines())
    with open_output(output) as write:
        write("".join(f"{id}\n" for id in sorted(ids)))


@app.command()
def annotated(
    corpora: Annotated[list[Path], typer.Argument(help="Annotated documents in PubTator's format")],
    without: Annotated[Path, typer.Option(help="Ids of documents to leave out")],
    output: Output,
) -> None:
    """Write the supplementary ids of MeSH that documents give to chemicals, and the texts that have no other id.

    MeSH replaced many of them since. Its files have them no longer.
    """
    left_out = set(without.read_text().split())
    ids: defaultdict[str, set[str]] = defaultdict(set)
    for document in chain.from_iterable(read_corpus(path, "pubtator") for path in corpora):
        for mention in document.mentions if document.doc_id not in left_out else ():
            if mention.label == "Chemical":
                ids[lower(mention.text)].add("|".join(mention.ids))
    pairs = sorted((min(of), text) for text, of in ids.items() if len(of) == 1 and len(text) > MOST_WORDS)
    with open_output(output) as write:
        write("".join(f"{id}\t{text}\n" for id, text in pairs if re.fullmatch(r"C\d+", id)))


def documents(paths: Iterable[Path], left_out: Collection[str]) -> Iterator[str]:
    """Yield abstracts, and the lines of PubTator files, each with the id of a document before its first | or tab."""
    for path in paths:
        with open_text(path) as lines:
            for line in lines:
                if line.startswith("{"):
                    record = json.loads(line)
                    if str(record.get("pmid") or record["id"]) not in left_out:
                        yield f"{record.get('title', '')} {record['text']}"
                elif re.split(r"[|\t]", line)[0] not in left_out:
                    yield line


def grouped(path: Path) -> Iterator[tuple[str, list[str]]]:
    for number, (id, name, synonyms) in enumerate(rows(path, 3)):
        if number:
            yield id, [name, *filter(None, synonyms.split("|"))]


def write_group(write: Callable[[str], object], id: str, names: list[str]) -> None:
    write(f"{id}\t{names[0]}\t{'|'.join(names[1:])}\n")


def is_telling(name: str) -> bool:
    characters = [*filter(str.isalnum, name)]
    return len(characters) >= FEWEST and any(map(str.isalpha, characters))


if __name__ == "__main__":
    app()
