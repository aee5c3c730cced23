"""Define `spacy-sapbert evaluate`, which prints measures as tables on standard error and writes them as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ..documents.pubtator import read_med1250
from ..documents.reader import read_corpus
from ..encoders.encoder import Encoder, open_encoder
from ..errors import EmptyError, OptionError
from ..evaluation.compare import compare_predictions
from ..evaluation.components import decide_by, evaluate_abbreviations, evaluate_composites
from ..evaluation.separation import evaluate_separation, read_name_pairs
from ..files.console import results_to, stderr_console, track
from ..metrics.separation import as_measures
from ..types import has_type
from .configs import ConfigCommand
from .evaluate_pipeline import concepts, folds, pipeline
from .inputs import Corpus, CorpusFormat, Ids, Output, Predictions, Type, read_documents, split_pairs
from .inputs import Pipeline as PipelineName

_NO_RELATIONS = "The vocabulary has no is_a relations, so errors cannot be hypernyms or hyponyms."


class _Evaluate(TyperGroup):
    """Says where a command of 1.1 is now."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        for group, (_, commands) in _GROUPS.items():
            if command is None and cmd_name in [function.__name__ for function in commands]:
                ctx.fail(f"`evaluate {cmd_name}` is now `evaluate {group} {cmd_name}`.")
        return command


evaluate = typer.Typer(
    cls=_Evaluate, help="Measure pipelines on annotated corpora, and encoders on pairs of names.", no_args_is_help=True
)


@evaluate.command("linking")
def linking(
    pipeline: PipelineName,
    corpus: Corpus,
    output: Output = None,
    format: CorpusFormat = None,
    type: Type = None,
    ids: Ids = None,
    predictions: Predictions = None,
    errors: Annotated[
        Path | None, typer.Option(help="File for the wrong links and the kind of each error: .tsv, or JSON lines.")
    ] = None,
) -> None:
    """Measure how often a pipeline links gold mentions to the right concepts."""
    from ..evaluation.linking import evaluate_linking
    from ..evaluation.linking_errors import error_report
    from ..pipeline.tokenizer import load_pipeline

    with results_to(output, [corpus, ids]) as show:
        nlp = load_pipeline(pipeline)
        documents = track(read_documents(corpus, format, ids), stderr_console())
        with error_report(nlp, errors) if errors else nullcontext() as report:
            result = evaluate_linking(nlp, documents, type=type, predictions=predictions, each=report)
        if report:
            result["errors"] = report.summary()
            if not report.has_relations:
                stderr_console().print(_NO_RELATIONS)
        show(result)


evaluate.command("pipeline")(pipeline)
evaluate.command("concepts")(concepts)


def belb(
    folder: Annotated[Path, typer.Argument(help="Folder that BELB's scripts filled; it has the folder `processed`.")],
    output: Output = None,
    corpus: Annotated[
        list[str] | None, typer.Option(help="Corpus, such as ncbi_disease. Repeatable. Default: all of them.")
    ] = None,
    split: Annotated[str, typer.Option(help="Part of the corpora: train, dev or test.")] = "dev",
    encoder: Annotated[str, typer.Option(help="Encoder: 'starter', a folder, a hub name, or 'none'.")] = "starter",
    pipeline: Annotated[
        list[str] | None,
        typer.Option(help="Pipeline for a corpus, as CORPUS=PIPELINE, instead of a new one. Repeatable."),
    ] = None,
) -> None:
    """Measure linking on the corpora of BELB: strict recall at 1 and 5.

    Each corpus is linked to the knowledge base that BELB gives it. What BELB's folder lacks is listed with the reason.
    """
    from ..evaluation.belb import evaluate_belb

    with results_to(output, [folder]) as show:
        pipelines = dict(split_pairs("--pipeline", pipeline))
        show(evaluate_belb(folder, split=split, corpora=corpus or (), encoder=encoder, pipelines=pipelines))


@evaluate.command("compare")
def compare(
    a: Annotated[
        Path,
        typer.Argument(help="Predictions of one pipeline, from --predictions of `linking`, `concepts` or `pipeline`."),
    ],
    b: Annotated[Path, typer.Argument(help="Predictions of another pipeline, on the same corpus.")],
    output: Output = None,
) -> None:
    """Test whether pipeline B is better than pipeline A.

    The test is a paired bootstrap over documents, with 95 % intervals.
    Both files must come from the same command: `linking`, `concepts` or `pipeline`.
    """
    with results_to(output, [a, b]) as show:
        show(compare_predictions(a, b))


def training(
    log: Annotated[Path, typer.Argument(help="Log file from the logger of the linker's config (--paths.log).")],
    output: Output = None,
) -> None:
    """Show the training of a linker: the measures of each epoch, and candidates of chosen mentions."""
    from ..evaluation.candidate_log import best, by_epoch, read_candidate_log

    with results_to(output, [log]) as show:
        lines = read_candidate_log(log)
        top = {name: value for name, value in best(lines).items() if name != "candidates"}
        show({"evaluations": len(lines), "best": top, "epochs": by_epoch(lines)})


def abbreviations(
    corpus: Annotated[Path, typer.Argument(help="Corpus of short and long forms, in the format of MED1250.")],
    output: Output = None,
) -> None:
    """Measure how well definitions of abbreviations are found, and list the errors."""
    with results_to(output, [corpus]) as show:
        result = evaluate_abbreviations(track(read_med1250(corpus), stderr_console()))
        if not result["pairs"]:
            raise EmptyError(what="pair of a short and a long form", consequence="nothing can be measured")
        show(result)


def composites(
    corpus: Corpus,
    output: Output = None,
    type: Type = None,
    kb: Annotated[
        str | None,
        typer.Option(help="Knowledge base, or 'starter'. With it, the splits of the linker are measured, too."),
    ] = None,
) -> None:
    """Measure how well composite mentions are split.

    The corpus must annotate the parts of composite mentions, as BC5CDR does.
    """
    with results_to(output, [corpus]) as show:
        documents = track(read_corpus(corpus), stderr_console())
        mentions = (mention for document in documents for mention in document.mentions)
        chosen = (mention for mention in mentions if type is None or has_type(mention.label, [type]))
        result = evaluate_composites(chosen, decide=decide_by(kb) if kb else None)
        if not result["connector"]["n"] + result["no_connector"]["n"] + result["wrong_splits"]["of"]:
            what = "mention with parts or a connector"
            raise EmptyError("Check the corpus and the type.", what=what, consequence="nothing can be measured")
        show(result)


def separation(
    encoders: Annotated[
        list[str], typer.Argument(metavar="ENCODER...", help="Encoders: 'starter', folders or hub names.")
    ],
    pairs: Annotated[Path, typer.Argument(help="Pairs of synonyms, id||name||name, such as eval.txt from `pairs`.")],
    output: Output = None,
) -> None:
    """Measure how well an encoder separates synonyms from names of different concepts.

    Cosines range from -1 to 1. Overlap, AUC and the equal error rate are percentages.
    With several encoders, the JSON shows the first at the top level, and all of them under `encoders`.
    """
    with results_to(output, [pairs]) as show:
        read = read_name_pairs(pairs)
        opened = _open(encoders)
        measures = {name: as_measures(evaluate_separation(encoder, read)) for name, encoder in opened.items()}
        first = {**measures[encoders[0]], "same_name": read.same_name}
        show({**first, "encoders": measures} if len(measures) > 1 else first, measures)


def _open(names: Sequence[str]) -> dict[str, Encoder]:
    """Open the encoders, by name."""
    encoders = {}
    for name in names:
        opened = open_encoder(name)
        if opened is None:
            remedy = "Give 'starter', a folder or a hub name."
            raise OptionError(remedy, option=f"The encoder {name!r}", reason="it has no vectors")
        encoders[name] = opened
    return encoders


# --- groups of commands

_GROUPS = {
    "corpus": ("Measure linking on a corpus in parts, and on those of BELB.", (belb, folds)),
    "components": (
        "Measure parts of a pipeline: abbreviations, composites, encoders, and the training of a linker.",
        (abbreviations, composites, separation, training),
    ),
}
for _group, (_help, _commands) in _GROUPS.items():
    _typer = typer.Typer(no_args_is_help=True)
    evaluate.add_typer(_typer, name=_group, help=_help)
    for _command in _commands:
        _typer.command(_command.__name__, cls=ConfigCommand if _command is folds else None)(_command)
