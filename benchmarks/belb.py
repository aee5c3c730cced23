"""Measure BELB's strict recall on the development parts of corpora, linked to vocabularies of the data folder.

The corpora and vocabularies are written in the layout of BELB's version v1, and `evaluate_belb` measures them. As in
BELB, ids that the vocabulary lacks are left out, and so are mentions without an id and documents without a mention.
These are not BELB's own files: BELB has other releases of the vocabularies, with more species, cell lines and
chemicals.

    python benchmarks/belb.py FOLDER [--encoder starter] [--corpus NAME …]
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from common import new_parser
from corpora import CELLS, CHEMICALS, DEVELOPMENT, MEDIC, SPECIES, read, read_concepts

from spacy_sapbert.evaluation.belb import CORPORA, evaluate_belb
from spacy_sapbert.files.output import open_output
from spacy_sapbert.kb.ids import curie_of
from spacy_sapbert.types import Document, Record

VOCABULARIES = {"ctd_diseases": MEDIC, "ctd_chemicals": CHEMICALS, "ncbi_taxonomy": SPECIES, "cellosaurus": CELLS}
DOCUMENTS = {
    "ncbi_disease": DEVELOPMENT["NCBI"],
    "bc5cdr_disease": DEVELOPMENT["BC5CDR diseases"],
    "bc5cdr_chemical": DEVELOPMENT["BC5CDR chemicals"],
    "s800": DEVELOPMENT["S800"]._replace(type="Species"),
    "linnaeus": DEVELOPMENT["LINNAEUS"]._replace(type="Species"),
    "bioid_cell_line": DEVELOPMENT["Bio-ID"],
}
_FIGURE = 4  # digits at the end of a record's id in Bio-ID; those before are the article


def write_kb(folder: Path, records: Iterable[Record]) -> set[str]:
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


def write_corpus(folder: Path, name: str, documents: Iterable[Document], known: set[str]) -> Mapping[str, int]:
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
    parser.add_argument("--corpus", action="append", choices=list(DOCUMENTS), help="Repeatable. Default: all.")
    args = parser.parse_args()
    chosen = args.corpus or list(DOCUMENTS)
    processed, known, mentions = args.folder / "processed", {}, {}
    for name in chosen:
        corpus = CORPORA[name]
        if corpus.kb not in known:
            records = read_concepts(args.data, VOCABULARIES[corpus.kb])
            known[corpus.kb] = write_kb(processed / "kbs" / corpus.kb, records)
        place = processed / "corpora" / corpus.folder
        mentions[name] = write_corpus(place, name, read(args.data, DOCUMENTS[name]), known[corpus.kb])
    result = evaluate_belb(args.folder, corpora=chosen, encoder=args.encoder)
    print(json.dumps({"encoder": args.encoder, "annotated": mentions, **result}, indent=2))


if __name__ == "__main__":
    main()
