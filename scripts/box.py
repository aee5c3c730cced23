"""Make the pipeline in the package from a trained NER: `spacy.load("spacy_sapbert")`.

    python scripts/box.py make training/box/ner/model-last --output training/box/pipeline
    python scripts/box.py names corpus/box/starter.kb --output corpus/box/matcher
    python scripts/box.py card training/pipeline --metrics metrics --output metrics/meta.json

`names` writes the index of the names of the vocabulary. In the package, it is beside the vocabulary, so that the first
use need not make it. `card` writes the meta of a pipeline for `spacy package`: authors, sources, vocabularies, and what
was measured.

The NER comes with the components that it needs. The linker and the matcher use the starter vocabulary, which the
package holds beside the pipeline. Weights are saved with 16 bits, and word vectors with 8, as they were trained. In the
package, `meta.json` stands beside `__init__.py`, where spaCy looks for it.
"""

import json
import shutil
from pathlib import Path
from typing import Annotated, Any

import spacy
import typer
from spacy.language import Language
from thinc.api import Config

from spacy_sapbert.files.output import replacing_folder
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.linking.name_matcher import NameMatcher
from spacy_sapbert.pipeline.assemble import describe
from spacy_sapbert.pipeline.box import ADDED, LABELS, NER
from spacy_sapbert.pipeline.factories import MATCHER

# the labels of the NER are the types of the concepts
SETTINGS = {
    MATCHER: {"kb": "starter", "spans_key": "names", "all_types": True, "other_words": []},  # as configs/ner.cfg
    "sapbert_linker": {"label_types": {label: [label] for label in LABELS}},
}

CARD, SOURCES = Path("configs/box/README.md"), Path("configs/box/sources.json")
OWN_META = {
    "name": "spacy_sapbert",
    "version": "1.1.0",
    "license": "MIT",
    "description": "Finds diseases, chemicals, genes, species and cell lines in English text, and links them",
}
TASK_META = {
    "license": "MIT; vocabularies and corpora have their own",
    "description": "Finds diseases, chemicals, genes, species and cell lines, links them, and predicts the diseases and"
    " chemicals of whole documents",
}

app = typer.Typer(add_completion=False)


def complete(nlp: Language) -> Language:
    """Add the components behind the NER, with the vocabulary of the package."""
    nlp.replace_pipe(MATCHER, MATCHER, config=SETTINGS[MATCHER])
    nlp.add_pipe("repeated_mentions", after=NER)
    for name in ADDED:
        nlp.add_pipe(name, config=SETTINGS.get(name, {}))
    return nlp


@app.command()
def make(
    ner: Annotated[Path, typer.Argument(help="The pipeline of the NER.")],
    output: Annotated[Path, typer.Option(help="The folder to write.")],
) -> None:
    """Write the pipeline in the package."""
    nlp = complete(spacy.load(ner))
    nlp.meta.update(OWN_META, **read_meta(SOURCES))
    others = [name for name in nlp.component_names if name != NER]
    with replacing_folder(output) as new:
        nlp.to_disk(new, exclude=others)
        config = Config().from_disk(new / "config.cfg", interpolate=False)
        config["paths"] = dict.fromkeys(config["paths"])  # the files are not in the package, nor these vocabularies
        config["corpora"]["train"]["augmenter"] = None
        config.to_disk(new / "config.cfg")
        (new / "vocab" / "strings.json").write_text(json.dumps(sorted(LABELS)), encoding="utf-8")  # 6 MB of words less
        shutil.copyfile(CARD, new / "README.md")


@app.command()
def names(
    kb: Annotated[Path, typer.Argument(help="The vocabulary.")],
    output: Annotated[Path, typer.Option(help="The folder to write.")],
) -> None:
    """Write the index of the names of a vocabulary."""
    with replacing_folder(output) as new:
        NameMatcher.build(KnowledgeBase(kb)).save(new)


@app.command()
def card(
    pipeline: Annotated[Path, typer.Argument(help="A saved pipeline.")],
    metrics: Annotated[Path, typer.Option(help="The folder with what `evaluate` wrote.")],
    output: Annotated[Path, typer.Option(help="The file to write.")],
) -> None:
    """Write the meta of a pipeline, from which `spacy package` makes the card."""
    nlp = spacy.load(pipeline)
    nlp.meta.update(TASK_META, **read_meta(SOURCES))
    describe(nlp)
    of_biored = read_meta(metrics / "spacy.json")
    scores = {name: score for name, score in of_biored.items() if name.startswith(("ents_", "span_id_"))}
    for path in sorted(metrics.glob("*_linking.json")):
        scores[f"{path.stem}_acc1"] = read_meta(path)["lenient"]["acc@1"] / 100
    for path in sorted(metrics.glob("*_concepts.json")):
        scores[f"{path.stem}_r10"] = read_meta(path)["all"]["r@10"] / 100
    nlp.meta["performance"] = scores
    output.write_text(json.dumps(nlp.meta, indent=2), encoding="utf-8")


def read_meta(path: Path) -> dict[str, Any]:
    meta: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return meta


if __name__ == "__main__":
    app()
