"""Write the names that clinical notes use and the vocabulary in the package lacks, for the vocabulary "clinical".

    python scripts/clinical_names.py hp.obo symp.obo --own-names configs/vocabularies/clinical_names.tsv \\
        -o clinical.tsv.gz

A term of the ontologies is a disease of the package if both have a name in common, or a one-to-one reference to UMLS.
It then gives it further names. Else it is a new concept. A name of another concept of the package is left out.
"""

from __future__ import annotations

import gzip
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer
from box_vocabulary import EXACT, HEADER, LONGEST, OWN, Output, rows

from spacy_sapbert.files.output import replacing
from spacy_sapbert.kb.export import stream_records
from spacy_sapbert.kb.ids import vocabulary_of
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.kb.storage import load_knowledge_base
from spacy_sapbert.text.normalize import lower
from spacy_sapbert.text.words import word_keys
from spacy_sapbert.types import Record

DISEASE, UMLS = "Disease", "UMLS:"
ROOTS = {"HP": "HP:0000118", "SYMP": ""}  # phenotypes are below it; not modes of inheritance, ages and frequencies
SOURCES = {"HP": "HPO", "SYMP": "SYMP"}
GENERAL = frozenset({"discharge", "sputum"})  # names of the Symptom Ontology that notes use in other senses
MOST_WORDS = 6  # of a name that a note may have


class Package:
    """The names and references of the vocabulary in the package."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.owners: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
        self.diseases: set[str] = set()
        self._referred: defaultdict[str, set[str]] = defaultdict(set)
        for record in records:
            if DISEASE in record.types:
                self.diseases.add(record.concept_id)
            for name in record.names:
                self.owners[word_keys(name.text)].add(record.concept_id)
            for xref in record.xrefs:
                if xref.startswith(UMLS) or vocabulary_of(xref) == "UMLS":
                    self._referred[xref.removeprefix(UMLS)].add(record.concept_id)

    def find(self, record: Record) -> str:
        """Return the disease that a term is: by its first name that a disease has, or by its references."""
        for name in record.names:
            found = self.owners.get(word_keys(name.text), set()) & self.diseases
            if name.scope in EXACT and found:
                return min(found)
        referred = {id for xref in record.xrefs for id in self._referred.get(xref.removeprefix(UMLS), ())}
        return referred.pop() if len(referred) == 1 else ""


def below(records: dict[str, Record], root: str) -> set[str]:
    """Return the ids of a root and of all terms below it. All ids if there is no root."""
    children: defaultdict[str, list[str]] = defaultdict(list)
    for record in records.values():
        for parent in record.parents:
            children[parent].append(record.concept_id)
    found, waiting = {root} if root else {*records}, [root]
    while waiting:
        new = set(children[waiting.pop()]) - found
        found |= new
        waiting += new
    return found - {root}


def terms(path: Path) -> Iterator[Record]:
    records = {record.concept_id: record for record in read_vocabulary(path, "obo", report=ReadReport())}
    prefix = vocabulary_of(next(iter(records)))
    wanted = below(records, ROOTS.get(prefix, ""))
    yield from (record for id, record in records.items() if id in wanted and vocabulary_of(id) == prefix)


def main(
    ontologies: Annotated[list[Path], typer.Argument(help="OBO files")],
    own_names: Annotated[Path, typer.Option(help="Lines of an id, a name, and a type if it is no disease")],
    output: Output,
) -> None:
    """Write the table of further names and concepts."""
    package = Package(stream_records(load_knowledge_base("starter")))
    owners, counts = package.owners, Counter[str]()
    table: dict[tuple[str, str, str], list[str]] = {}

    def add(id: str, source: str, texts: Iterable[str], type: str = DISEASE) -> None:
        for text in texts:
            key, is_own = word_keys(text), source == OWN  # an own name is always there: it is no stop name
            is_new = owners.get(key, set()) <= ({id} if is_own else set())
            is_written = is_own or ((len(key) > 1 or " " not in text) and lower(text) not in GENERAL)  # not "on edge"
            if key and is_new and is_written and len(text) <= LONGEST and len(text.split()) <= MOST_WORDS:
                owners[key].add(id)
                table.setdefault((id, source, type), []).append(text)
                counts[source] += 1

    concepts: dict[str, str] = {}
    for path in ontologies:
        for record in terms(path):
            concepts[record.concept_id] = package.find(record) or record.concept_id
            exact = [name.text for name in record.names if name.scope in EXACT]
            if concepts[record.concept_id] == record.concept_id:
                package.diseases.add(record.concept_id)
            add(concepts[record.concept_id], SOURCES[vocabulary_of(record.concept_id)], exact)
    for id, text, *type in rows(own_names, 2):
        add(concepts.get(id, id), OWN, [text], *type)
    with replacing(output) as new, new.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        lines = [(*HEADER[:3], "types", "source")]
        lines += [(id, names[0], "|".join(names[1:]), type, source) for (id, source, type), names in table.items()]
        packed.write("".join("\t".join(line) + "\n" for line in lines).encode())
    typer.echo(f"{output}: {len(table)} concepts, {dict(counts)}", err=True)


if __name__ == "__main__":
    typer.run(main)
