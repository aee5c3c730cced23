"""Annotate with MetaMapLite's rules for `augment`: by mmlite, a port of MetaMapLite to Python, over any knowledge base.

`index` writes the knowledge base as tables of UMLS, with made-up CUIs, and lets mmlite build its index from them. It
also writes the ids of the CUIs as mappings. `texts` annotates a folder of texts, as `augment -o FOLDER` writes one.
`augmentation.py --mmlite` measures how good the annotations are.

mmlite is no dependency of this package: `pip install mmlite`. Parts of speech need a model of spaCy (--tagger).

    python benchmarks/metamaplite.py index FOLDER --kb KB
    python benchmarks/metamaplite.py texts FOLDER TEXTS [--tagger MODEL]
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from spacy_sapbert.augmentation.annotations import Annotation, IdMapping
from spacy_sapbert.augmentation.metamaplite import MetaMapLiteOutput, write_texts
from spacy_sapbert.documents.source import Report
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.kb.mapping import read_mappings
from spacy_sapbert.kb.storage import load_knowledge_base

app = typer.Typer(add_completion=False)
Folder = Annotated[Path, typer.Argument(help="Folder of the index.")]
Tagger = Annotated[str | None, typer.Option(help="Model of spaCy for parts of speech. Without one, they are not used.")]
MAPPINGS, TEXTS = "cuis.tsv", "texts"
TYPE = "T047"


@app.command()
def index(folder: Folder, kb: Annotated[str, typer.Option()]) -> None:
    """Build the index of a knowledge base."""
    from mmlite.index.build import build_index

    folder.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(folder / TEXTS, ignore_errors=True)  # annotations with the CUIs of an earlier index
    base = load_knowledge_base(kb)
    numbers = {concept_id: f"C{number:07}" for number, concept_id in enumerate(base.concept_ids(), start=1)}
    names, types = folder / "MRCONSO.RRF", folder / "MRSTY.RRF"
    with names.open("w", encoding="utf-8") as lines:
        for concept_id, cui in numbers.items():
            for number, name in enumerate(base.names_of(concept_id)):
                status = "P" if number == 0 else "S"  # the first name is the preferred one
                text = name.text.replace("|", " ")
                lines.write(
                    f"{cui}|ENG|{status}|L{number}|PF|S{number}|Y|A{number}||||MSH|PT|{concept_id}|{text}|0|N||\n"
                )
    types.write_text("".join(f"{cui}|{TYPE}||||\n" for cui in numbers.values()), encoding="utf-8")
    (folder / MAPPINGS).write_text("".join(f"{cui}\t{one}\n" for one, cui in numbers.items()), encoding="utf-8")
    build_index(names, types, folder, overwrite=True)


@app.command()
def texts(folder: Folder, texts: Path, tagger: Tagger = None) -> None:
    """Annotate the texts of a folder. The output stands beside each text."""
    print(json.dumps(annotate(folder, sorted(texts.glob("*.txt")), tagger), indent=2))


class Mmlite:
    """Annotates texts with mmlite, in the ids of its knowledge base. The texts are kept in `FOLDER/texts`."""

    name = "mmlite"

    def __init__(self, folder: Path, kb: KnowledgeBase) -> None:
        self._folder = folder
        self._mapping = IdMapping(kb, read_mappings([folder / MAPPINGS]))

    def annotate(self, texts: Sequence[str]) -> list[list[Annotation] | None]:
        work = self._folder / TEXTS
        write_texts(texts, work)
        annotate(self._folder, sorted(work.glob("*.txt")))
        output, map_ids = MetaMapLiteOutput(work, Report()).annotate(texts), self._mapping.map
        return [
            [mapped for one in some or [] if (mapped := map_ids(text, one))]
            for text, some in zip(texts, output, strict=True)
        ]


def annotate(folder: Path, files: Sequence[Path], tagger: str | None = None) -> dict[str, Any]:
    """Write the MMI output of each file that has none yet."""
    from mmlite import MetaMapLite
    from mmlite.config import Settings

    settings = Settings(index_directory=folder, enable_postagging=tagger is not None, detect_negations=False)
    if tagger:
        settings.postag_model = tagger
    start, waiting = time.process_time(), [file for file in files if not file.with_suffix(".mmi").is_file()]
    with MetaMapLite(settings) as program:
        for file in waiting:
            entities = program.process_file(file)
            file.with_suffix(".mmi").write_text(program.format(entities, "mmi"), encoding="utf-8")
    return {"texts": len(files), "annotated": len(waiting), "cpu_seconds": round(time.process_time() - start, 1)}


if __name__ == "__main__":
    app()
