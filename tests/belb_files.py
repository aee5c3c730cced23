"""Write made-up files in the layout of BELB (version v1), as its scripts write them."""

import gzip
import json

CONFIG = {
    "add_foreign_annotations": "false",
    "annotations_file": "null",
    "entity_types": "[DISEASE, CHEMICAL]",
    "max_mentions": "-1",
    "mention_markers": "false",
    "sentences": "false",
}


def write_corpus(belb, name, entity, documents, *, split="dev", hash="0a1b", **options):
    """Write a part of a corpus, and its config. The path of the part is returned.

    documents: (id, passages), with passages (text, mentions), and mentions (start, end, ids joined by ";"). A mention
    without ids is a "foreign" one, i.e. one of another type.
    """
    folder = belb / "processed" / "corpora" / name / hash
    folder.mkdir(parents=True, exist_ok=True)
    settings = {**CONFIG, "entity_type": entity.upper(), "name": name, **options}
    (folder / "conf.yaml").write_text("".join(f"{key}: {value}\n" for key, value in settings.items()))
    made = [{"bioctype": "BioCDocument", "id": id, "infons": {}, **passages_of(some, entity)} for id, some in documents]
    collection = {"bioctype": "BioCCollection", "source": "", "version": "1.0", "infons": {}, "documents": made}
    path = folder / f"{split}.bioc.json"
    path.write_text(json.dumps(collection, indent=1, ensure_ascii=False), encoding="utf-8")
    return path


def passages_of(passages, entity):
    made, offset = [], 0
    for number, (text, mentions) in enumerate(passages):
        annotations = [annotation(offset, text, *mention, entity) for mention in mentions]
        infons = {"id": number, "type": "title" if number == 0 else "abstract"}
        passage = {"bioctype": "BioCPassage", "offset": offset, "infons": infons, "text": text, "sentences": []}
        made.append({**passage, "annotations": annotations, "relations": []})
        offset += len(text) + 1
    return {"passages": made, "annotations": [], "relations": []}


def annotation(offset, text, start, end, ids, entity):
    surface = text[start:end]
    original = {"start": offset + start, "end": offset + end, "text": surface, "identifiers": ids or "-"}
    infons = {"type": entity, "identifier": ids} if ids else {"type": "other"}
    infons |= {"foreign": not ids, "hexdigest": f"{offset + start:032x}", "original": original}
    location = {"offset": offset + start, "length": end - start}
    return {"id": str(start), "infons": infons, "text": surface, "locations": [location]}


def write_kb(belb, name, concepts, *, species=(), subsets=""):
    """Write the tables of a knowledge base. Its folder is returned.

    concepts: (ids, names), the preferred name first. The ids are numbers, or texts that BELB numbers. `species` has the
    one of each concept.
    """
    folder = belb / "processed" / "kbs" / name
    (folder / "tables").mkdir(parents=True)
    (folder / "conf.yaml").write_text(f"name: {name}\n{subsets}")
    names, numbers = [], []
    for number, (ids, texts) in enumerate(concepts):
        identifier = ids[0] if isinstance(ids[0], int) else number
        numbers += [] if isinstance(ids[0], int) else [(number, id) for id in ids]
        for row, text in enumerate(texts):
            taxon = [species[number]] if species else []
            names.append(("-", min(row, 1), *taxon, identifier, text, len(names)))
    columns = ("attribute", "description", *(["foreign_identifier"] if species else []), "identifier", "name", "uid")
    write_table(folder / "tables" / "kb.tsv.gz", columns, names)
    if numbers:
        write_table(
            folder / "tables" / "identifier_mapping.tsv.gz", ("internal_identifier", "original_identifier"), numbers
        )
    return folder


def write_table(path, columns, rows):
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines("\t".join(map(str, row)) + "\n" for row in [columns, *rows])


def write_belb(belb):
    """Write two corpora with their knowledge bases. NCBI Disease has 5 mentions in 3 documents."""
    fever = [("Red fever is not", [(0, 9, "MESH:D000001")]), ("blue fever.", [(0, 10, "OMIM:1"), (0, 4, "")])]
    cold = [("Blue fever or cold fever", [(0, 10, "MESH:D000001;MESH:D000002"), (14, 24, "MESH:D999999")])]
    documents = [("1", fever), ("2", cold), ("3", [("Lung rot", [(0, 8, "MESH:D000003")])])]
    write_corpus(belb, "ncbi_disease", "disease", documents)
    concepts = [
        (["MESH:D000001", "OMIM:1"], ["Red fever", "rubra fever"]),
        (["MESH:D000002"], ["Blue fever"]),
        (["MESH:D000003"], ["Lung rot"]),
    ]
    write_kb(belb, "ctd_diseases", concepts)
    mice = [("1", [("Humans and one mouse", [(0, 6, "9606"), (15, 20, "10090")])])]
    write_corpus(belb, "s800", "species", mice)
    write_kb(belb, "ncbi_taxonomy", [([9606], ["Homo sapiens", "human"]), ([10090], ["Mus musculus", "mouse"])])
