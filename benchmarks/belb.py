"""Measure BELB's strict recall on the development parts of corpora, linked to vocabularies of the data folder.

The corpora and vocabularies are written in the layout of BELB's version v1, and `evaluate_belb` measures them. As in
BELB, ids that the vocabulary lacks are left out, and so are mentions without an id and documents without a mention.
These are not BELB's own files: BELB has other releases of the vocabularies, with more species, cell lines and
chemicals.

    python benchmarks/belb.py FOLDER [--encoder starter] [--corpus NAME …]
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from common import new_parser

from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.evaluation.belb import CORPORA, evaluate_belb
from spacy_sapbert.files.opening import open_text
from spacy_sapbert.files.output import open_output
from spacy_sapbert.kb.ids import curie_of
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.types import Document, Record

VOCABULARIES: dict[str, tuple[str, dict[str, Any]]] = {
    "ctd_diseases": ("dictionaries/medic/medic_06Jul2012.txt.gz", {"format": "medic"}),
    "ctd_chemicals": ("vocabularies/mesh_chemicals/mesh_chemicals.txt.gz", {"format": "medic"}),
    "ncbi_taxonomy": ("vocabularies/ncbi_taxonomy/Species_exhaustive.tsv.gz", {"columns": {"name": "1", "id": "2"}}),
    "cellosaurus": ("vocabularies/cellosaurus/Cellosaurus.tsv.gz", {"columns": {"name": "1", "id": "2"}}),
}


class Source(NamedTuple):
    """A corpus of the data folder: the file, the type of mentions (None for all), and whether it has other parts."""

    path: str
    label: str | None = None
    is_mixed: bool = False


SOURCES = {
    "ncbi_disease": Source("ncbi_disease/NCBIdevelopset_corpus.txt"),
    "bc5cdr_disease": Source("bc5cdr/CDR_DevelopmentSet.PubTator.txt.gz", "Disease"),
    "bc5cdr_chemical": Source("bc5cdr/CDR_DevelopmentSet.PubTator.txt.gz", "Chemical"),
    "s800": Source("s800/SPECIES_Train.PubTator.gz", "Species", is_mixed=True),
    "linnaeus": Source("linnaeus/Linnaeus_Train.PubTator.gz", "Species", is_mixed=True),
    "bioid_cell_line": Source("bioid/BioID_Train_revision.PubTator.gz", "CellLine", is_mixed=True),
}
_FIGURE = 4  # digits at the end of a record's id in Bio-ID; those before are the article


def write_kb(folder: Path, records: Iterator[Record]) -> set[str]:
    """Write the tables of a knowledge base, and return its ids."""
    names: dict[str, dict[str, None]] = defaultdict(dict)
    ids: dict[str, dict[str, None]] = defaultdict(dict)
    for record in records:
        names[record.concept_id].update(dict.fromkeys(name.text for name in record.names))
        ids[record.concept_id].update(dict.fromkeys([record.concept_id, *record.alternative_ids]))
    is_numbered = folder.name == "ncbi_taxonomy"
    rows = [("attribute", "description", "identifier", "name", "uid")]
    numbers = [("internal_identifier", "original_identifier")]
    for number, (concept_id, texts) in enumerate(names.items()):
        identifier = concept_id if is_numbered else str(number)
        for row, text in enumerate(texts):
            rows.append(("-", str(min(row, 1)), identifier, text, str(len(rows) - 1)))
        numbers += [(str(number), curie_of(known)) for known in ids[concept_id]]
    (folder / "tables").mkdir(parents=True, exist_ok=True)
    for table, lines in {"kb": rows, **({} if is_numbered else {"identifier_mapping": numbers})}.items():
        with open_output(folder / "tables" / f"{table}.tsv.gz") as write:
            for line in lines:
                write("\t".join(line) + "\n")
    return set().union(*ids.values())


def documents_of(data: Path, name: str) -> Iterator[Document]:
    """Yield the documents of the development part, with the mentions of one type."""
    source = SOURCES[name]
    with open_text(data / "splits" / "development.txt") as lines:
        ids = set(map(str.strip, lines))
    for document in read_corpus(data / "corpora" / source.path):
        if document.doc_id in ids or not source.is_mixed:
            chosen = (mention for mention in document.mentions if source.label in (None, mention.label))
            yield document._replace(mentions=tuple(chosen))


def passage(offset: int, document: Document, known: set[str], entity: str) -> tuple[dict[str, Any], int]:
    """Return a passage as BioC JSON has it, and the number of mentions that are left out."""
    annotations: dict[tuple[int, int], dict[str, Any]] = {}
    for mention in document.mentions:
        ids = [curie_of(concept_id) for concept_id in mention.ids if concept_id in known]
        if ids and mention[:2] not in annotations:
            infons = {"type": entity, "identifier": ";".join(ids), "foreign": False}
            location = {"offset": offset + mention.start, "length": mention.end - mention.start}
            annotations[mention[:2]] = {"infons": infons, "text": mention.text, "locations": [location]}
    made = {"offset": offset, "infons": {}, "text": document.text, "annotations": [*annotations.values()]}
    return made, len(document.mentions) - len(annotations)


def write_corpus(folder: Path, name: str, documents: Iterator[Document], known: set[str]) -> Mapping[str, int]:
    """Write a corpus, and return the numbers of kept and of left-out mentions. The captions of an article become one
    document, as in BELB.
    """
    entity, made, n_lost = CORPORA[name].entity, [], 0
    end = -_FIGURE if name == "bioid_cell_line" else None
    grouped = sorted(documents, key=lambda document: document.doc_id[:end])
    for doc_id, parts in groupby(grouped, lambda document: document.doc_id[:end]):
        passages: list[dict[str, Any]] = []
        offset = 0
        for part in parts:
            added, lost = passage(offset, part, known, entity)
            passages.append(added)
            offset, n_lost = offset + len(part.text) + 1, n_lost + lost
        if any(one["annotations"] for one in passages):
            made.append({"id": doc_id, "passages": passages})
    folder = folder / entity
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "conf.yaml").write_text(f"entity_type: {entity.upper()}\n", encoding="utf-8")
    (folder / "dev.bioc.json").write_text(json.dumps({"documents": made}, ensure_ascii=False), encoding="utf-8")
    return {"kept": sum(len(one["annotations"]) for some in made for one in some["passages"]), "left_out": n_lost}


def main() -> None:
    parser = new_parser(__doc__, encoder=True)
    parser.add_argument("folder", type=Path, help="Folder for the files in BELB's layout.")
    parser.add_argument("--corpus", action="append", choices=list(SOURCES), help="Repeatable. Default: all.")
    args = parser.parse_args()
    chosen = args.corpus or list(SOURCES)
    processed, known, mentions = args.folder / "processed", {}, {}
    for name in chosen:
        corpus = CORPORA[name]
        if corpus.kb not in known:
            path, settings = VOCABULARIES[corpus.kb]
            records = read_vocabulary(args.data / path, report=ReadReport(), **{"format": "table", **settings})
            known[corpus.kb] = write_kb(processed / "kbs" / corpus.kb, records)
        place = processed / "corpora" / corpus.folder
        mentions[name] = write_corpus(place, name, documents_of(args.data, name), known[corpus.kb])
    result = evaluate_belb(args.folder, corpora=chosen, encoder=args.encoder)
    print(json.dumps({"encoder": args.encoder, "annotated": mentions, **result}, indent=2))


if __name__ == "__main__":
    main()
