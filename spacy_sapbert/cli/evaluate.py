"""Define `spacy-sapbert evaluate`, which prints measures as tables on standard error and writes them as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import wraps
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from ..documents.pubtator import read_med1250
from ..documents.reader import read_corpus
from ..encoders.encoder import Encoder, open_encoder
from ..errors import EmptyError, OptionError
from ..evaluation.compare import compare_predictions
from ..evaluation.components import decide_by, evaluate_abbreviations, evaluate_composites
from ..evaluation.separation import evaluate_separation, read_name_pairs
from ..files.console import results_to, stderr_console, table_of_numbers, track
from ..files.output import refuse_input
from ..metrics.separation import as_measures
from ..types import has_type
from .configs import ConfigCommand
from .evaluate_pipeline import concepts, folds, pipeline
from .inputs import Corpus, CorpusFormat, Ids, Output, Predictions, Type, read_documents, split_pairs
from .inputs import Pipeline as PipelineName

if TYPE_CHECKING:
    from ..evaluation.linking_errors import ErrorReport, LinkingError

SHARES = ("link_acc", "link_strict", "link_recall")

evaluate = typer.Typer(
    help="Measure pipelines on annotated corpora, and encoders on pairs of names.", no_args_is_help=True
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

    refuse_input(predictions, [corpus, ids], "--predictions")
    refuse_input(errors, [corpus, ids], "--errors")
    with results_to(output, [corpus, ids]) as show:
        nlp = load_pipeline(pipeline)
        documents = track(read_documents(corpus, format, ids), stderr_console())
        with error_report(nlp, errors) if errors else nullcontext() as report:
            result = evaluate_linking(nlp, documents, type=type, predictions=predictions, each=report)
        if report:
            result["errors"] = report.summary()
            stderr_console().print(_errors_table(report))
        show(_linking_table(result), result)


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
        result = evaluate_belb(folder, split=split, corpora=corpus or (), encoder=encoder, pipelines=pipelines)
        show(_belb_table(result), result)
        for name, reason in result["missing"].items():
            stderr_console().print(f"{name} was not measured: {reason}", markup=False, soft_wrap=True)


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
        result = compare_predictions(a, b)
        show(_comparison_table(result), result)


def training(
    log: Annotated[Path, typer.Argument(help="Log file from the logger of the linker's config (--paths.log).")],
    output: Output = None,
) -> None:
    """Show the training of a linker: the measures of each epoch, and candidates of chosen mentions."""
    from ..evaluation.candidate_log import best, by_epoch, read_candidate_log

    with results_to(output, [log]) as show:
        lines = read_candidate_log(log)
        epochs = by_epoch(lines)
        for mention in epochs[-1]["candidates"]:
            stderr_console().print(_candidates_table(mention, epochs))
        top = {name: value for name, value in best(lines).items() if name != "candidates"}
        show(_training_table(epochs), {"evaluations": len(lines), "best": top, "epochs": epochs})


def abbreviations(
    corpus: Annotated[Path, typer.Argument(help="Corpus of short and long forms, in the format of MED1250.")],
    output: Output = None,
) -> None:
    """Measure how well definitions of abbreviations are found, and list the errors."""
    with results_to(output, [corpus]) as show:
        result = evaluate_abbreviations(track(read_med1250(corpus), stderr_console()))
        if not result["pairs"]:
            raise EmptyError(what="pair of a short and a long form", consequence="nothing can be measured")
        stderr_console().print(_causes_table(result["errors"]))
        show(_scores_table(result), result)


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
        stderr_console().print(_splits_table(result["errors"]))
        show(_composites_table(result), result)


def _linking_table(result: Mapping[str, Any]) -> Table:
    groups = {
        "all": {"n": result["mentions"], "lenient": result["lenient_all"], "strict": result["strict_all"]},
        "covered": {"n": result["covered"], "lenient": result["lenient"], "strict": result["strict"]},
        **{f"… {name}": row for name, row in result["slices"].items()},
    }
    headings = [f"{measure} {cutoff}" for measure in ("lenient", "strict") for cutoff in result["lenient"]]
    rows = [(name, row["n"], *row["lenient"].values(), *row["strict"].values()) for name, row in groups.items()]
    table = table_of_numbers("mentions", "n", *headings, rows=rows)
    floor, recall = result["exact_match_floor"], result["candidate_recall@20"]
    if floor is not None:
        table.caption = f"covered: exact match {floor:.2f}, candidate recall@20 {recall:.2f}"
    if (lenient := result["se"]["lenient"]) is not None:
        table.caption = f"{table.caption}\nstandard errors: lenient {lenient:.2f}, strict {result['se']['strict']:.2f}"
    return table


def _errors_table(report: ErrorReport) -> Table:
    table = table_of_numbers("kind of error", "n", "share")
    table.add_column("example")
    for kind, row in report.summary().items():
        share = "–" if row["share"] is None else f"{row['share']:.2f}"
        table.add_row(kind, f"{row['n']:,}", share, "\n".join(map(_error_example, report.examples[kind])))
    if not report.has_relations:
        table.caption = "The vocabulary has no is_a relations, so errors cannot be hypernyms or hyponyms."
    return table


def _error_example(error: LinkingError) -> str:
    candidates = error.part.candidates if error.part else ()
    matched = candidates[0].name if candidates else "nothing"
    gold = " or ".join(concept.canonical_name for concept in error.gold)
    return f"{error.linked.mention.text} → {matched}, not {gold}"


def _training_table(epochs: Sequence[Mapping[str, Any]]) -> Table:
    rows = []
    for line in epochs:
        shares = [None if line[name] is None else 100.0 * line[name] for name in SHARES]
        rows.append((str(line["epoch"]), line["step"], *shares, line["link_lambda"]))
    return table_of_numbers("epoch", "step", "lenient acc@1", "strict acc@1", "recall@20", "λ", rows=rows)


def _candidates_table(mention: str, epochs: Sequence[Mapping[str, Any]]) -> Table:
    candidates = [line["candidates"].get(mention, []) for line in epochs]
    ranks = map(str, range(1, max(map(len, candidates)) + 1))
    table = Table("epoch", "step", *ranks, title=mention, title_justify="left")
    for line, found in zip(epochs, candidates, strict=True):
        cells = [f"{top['name']} ({top['id']}) {top['score']:.2f}" for top in found]
        table.add_row(str(line["epoch"]), f"{line['step']:,}", *cells)
    return table


def _comparison_table(result: Mapping[str, Any]) -> Table:
    measures = {name: row for name, row in result.items() if isinstance(row, Mapping)}
    if "mentions" in result:
        measures = {f"{name} {cutoff}": row for name, some in measures.items() for cutoff, row in some.items()}
    rows = [
        (
            name,
            row["a"],
            row["b"],
            f"{row['difference']:+.2f}",
            f"{row['low']:+.2f} … {row['high']:+.2f}",
            f"{row['p']:.4f}",
        )
        for name, row in measures.items()
    ]
    table = table_of_numbers("measure", "A", "B", "B - A", "95 % interval", "p", rows=rows)
    mentions = f"{result['mentions']:,} mentions in " if "mentions" in result else ""
    table.caption = f"{mentions}{result['documents']:,} documents"
    return table


def _scores_table(result: Mapping[str, Any]) -> Table:
    kinds = {"strict": result, "lenient": result["lenient"]}
    rows = [(name, *(scores[measure] for measure in ("p", "r", "f1"))) for name, scores in kinds.items()]
    table = table_of_numbers("definitions", "precision", "recall", "F1", rows=rows)
    table.caption = f"{result['pairs']:,} pairs"
    return table


def _causes_table(errors: Mapping[str, Sequence[Mapping[str, str]]]) -> Table:
    table = Table("cause", "n", "example")
    for cause, found in sorted(errors.items(), key=lambda entry: -len(entry[1])):
        table.add_row(cause, str(len(found)), f"{found[0]['short']} | {found[0]['long']} ({found[0]['pmid']})")
    return table


def _composites_table(result: Mapping[str, Any]) -> Table:
    groups = {"connector": "connector", "no_connector": "no connector", "decided": "connector, as linked"}
    rows = [(label, *result[group].values()) for group, label in groups.items() if group in result]
    table = table_of_numbers("mentions with gold parts", "n", "exact", "part P", "part R", "part F1", rows=rows)
    table.caption = f"wrongly split: {result['wrong_splits']['n']} of {result['wrong_splits']['of']} single mentions"
    return table


def _splits_table(errors: Mapping[str, Sequence[Mapping[str, Any]]]) -> Table:
    """Return the splits that differ from the corpus.

    Some of them differ only by convention, so a person must read them.
    """
    table = Table("mention", "gold", "predicted")
    for error in chain.from_iterable(errors.values()):
        table.add_row(error["text"], " | ".join(error["gold"]), " | ".join(error["predicted"]))
    return table


def _belb_table(result: Mapping[str, Any]) -> Table:
    keys = ("documents", "mentions", "not_in_vocabulary", "r@1", "se", "r@5")
    rows = [(name, *map(figures.get, keys)) for name, figures in result["corpora"].items()]
    table = table_of_numbers(result["split"], "documents", "mentions", "unknown", "R@1", "± SE", "R@5", rows=rows)
    table.caption = "BELB's strict recall. unknown: the vocabulary has none of their ids"
    return table


def separation(
    encoder: Annotated[str, typer.Argument(help="Encoder: 'starter', a folder or a hub name.")],
    pairs: Annotated[Path, typer.Argument(help="Pairs of synonyms, id||name||name, such as eval.txt from `pairs`.")],
    output: Output = None,
    others: Annotated[list[str] | None, typer.Option("--and", help="Another encoder to measure. Repeatable.")] = None,
) -> None:
    """Measure how well an encoder separates synonyms from names of different concepts.

    Cosines range from -1 to 1. Overlap, AUC and the equal error rate are percentages.
    With --and, the JSON shows the first encoder at the top level, and all encoders under `encoders`.
    """
    with results_to(output, [pairs]) as show:
        read = read_name_pairs(pairs)
        encoders = _open([encoder, *(others or [])])
        measures = {name: as_measures(evaluate_separation(opened, read)) for name, opened in encoders.items()}
        first = {**measures[encoder], "same_name": read.same_name}
        show(_separation_table(measures), {**first, "encoders": measures} if others else first)


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


def _separation_table(measures: Mapping[str, Mapping[str, Any]]) -> Table:
    rows: dict[str, Callable[[Mapping[str, Any]], str]] = {
        "synonyms": lambda row: f"{row['positive']['mean']:.3f} ± {row['positive']['sd']:.3f}",
        "different concepts": lambda row: f"{row['negative']['mean']:.3f} ± {row['negative']['sd']:.3f}",
        "difference": lambda row: f"{row['difference']:.3f}",
        "overlap": lambda row: f"{row['overlap']:.1f} %",
        "AUC": lambda row: f"{row['auc']:.2f} %",
        "threshold of equal error rate": lambda row: f"{row['threshold_eer']:.3f}",
        "equal error rate": lambda row: f"{row['eer']:.2f} %",
    }
    table = table_of_numbers("cosine", *measures)
    for name, cell in rows.items():
        table.add_row(name, *map(cell, measures.values()))
    positive, negative = (next(iter(measures.values()))[kind]["n"] for kind in ("positive", "negative"))
    table.caption = f"{positive:,} pairs of synonyms, {negative:,} of names of different concepts"
    return table


# --- groups of commands


def _renamed(command: Callable[..., None], name: str) -> Callable[..., None]:
    """Return a command that also prints its present name."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        stderr_console().print(f"This command is now `evaluate {name}`.")
        command(*args, **kwargs)

    return run


_GROUPS: dict[str, tuple[str, tuple[Callable[..., None], ...]]] = {
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
        _name, _class = _command.__name__, ConfigCommand if _command is folds else None
        _typer.command(_name, cls=_class)(_command)
        evaluate.command(_name, cls=_class, hidden=True)(_renamed(_command, f"{_group} {_name}"))
