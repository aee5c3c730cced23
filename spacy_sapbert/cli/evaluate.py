"""`spacy-sapbert evaluate`: measures as JSON on standard output, and as a table for people on standard error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from ..corpora.mention_types import has_type
from ..corpora.reader import FORMATS, read_corpus
from ..errors import Errors, SapbertError
from .concepts import concepts
from .corpora import Ids, read_documents
from .pipeline import pipeline
from .progress import json_to, show, stderr_console, table_of_numbers, track
from .separation import separation

if TYPE_CHECKING:
    from ..evaluation.linking_errors import ErrorReport, LinkingError

evaluate = typer.Typer(help="Measure pipelines on annotated corpora, and encoders on pairs.", no_args_is_help=True)


@evaluate.callback()
def measured(
    context: typer.Context,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the JSON to this file, not to standard output.")
    ] = None,
) -> None:
    """Measure pipelines on annotated corpora, and encoders on pairs."""
    if output and not output.absolute().parent.is_dir():  # which should not come up after an hour
        raise SapbertError(Errors.E507.format(path=output, reason="there is no such folder"))
    context.with_resource(json_to(output))


Corpus = Annotated[Path, typer.Argument(help="An annotated corpus, plain or gzipped.")]
Format = Annotated[str | None, typer.Option(help=f"One of {', '.join(FORMATS)}; guessed where plain.")]
Type = Annotated[str | None, typer.Option(help="Measure mentions of this type only.")]


@evaluate.command("linking")
def linking(
    pipeline: Annotated[str, typer.Argument(help="Folder or package of a pipeline with sapbert_linker.")],
    corpus: Corpus,
    format: Format = None,
    type: Type = None,
    ids: Ids = None,
    predictions: Annotated[Path | None, typer.Option(help="Write a JSON line for each mention to this file.")] = None,
    errors: Annotated[
        Path | None, typer.Option(help="Write what is wrong, and of which kind, to this file: .tsv, or JSON lines.")
    ] = None,
) -> None:
    """How often gold mentions are linked to the right concepts."""
    from ..evaluation.linking import evaluate_linking
    from ..evaluation.linking_errors import error_report
    from ..io.pipelines import load_pipeline

    nlp = load_pipeline(pipeline)
    documents = track(read_documents(corpus, format, ids), stderr_console())
    with error_report(nlp, errors) if errors else nullcontext() as report:
        result = evaluate_linking(nlp, documents, type=type, predictions=predictions, each=report)
    if report:
        result["errors"] = report.summary()
        stderr_console().print(_errors_table(report))
    show(_linking_table(result), result)


@evaluate.command("compare")
def compare(
    a: Annotated[Path, typer.Argument(help="A file that --predictions of `linking`, `concepts` or `pipeline` wrote.")],
    b: Annotated[Path, typer.Argument(help="One of another pipeline on the same corpus.")],
) -> None:
    """Whether B is better than A: paired bootstrap over documents, with 95 % intervals.

    Both files are by the same command: about links of gold mentions, concepts of documents, or whole pipelines.
    """
    from ..evaluation.compare import compare_predictions

    result = compare_predictions(a, b)
    show(_comparison_table(result), result)


@evaluate.command("training")
def training(
    log: Annotated[Path, typer.Argument(help="What the logger of configs/linker.cfg wrote (--paths.log).")],
    plot: Annotated[Path | None, typer.Option(help="Draw accuracy and candidate recall: .svg, .png or .pdf.")] = None,
) -> None:
    """How a linker learnt, epoch by epoch, and what it found for chosen mentions."""
    from ..evaluation.candidate_log import best, by_epoch, read_candidate_log
    from ..evaluation.plots import plot_linking_scores

    lines = read_candidate_log(log)
    epochs = by_epoch(lines)
    if plot:
        plot_linking_scores(lines, plot)
    for mention in epochs[-1]["candidates"]:
        stderr_console().print(_candidates_table(mention, epochs))
    top = {name: value for name, value in best(lines).items() if name != "candidates"}
    show(_training_table(epochs), {"evaluations": len(lines), "best": top, "epochs": epochs})


@evaluate.command("abbreviations")
def abbreviations(
    corpus: Annotated[Path, typer.Argument(help="Records with their short and long forms, as MED1250 has them.")],
) -> None:
    """How well definitions of abbreviations are found, and by which cause they are missed or wrong."""
    from ..corpora.med1250 import read_med1250
    from ..evaluation.abbreviations import evaluate_abbreviations

    result = evaluate_abbreviations(track(read_med1250(corpus), stderr_console()))
    if not result["pairs"]:
        raise SapbertError(Errors.E518.format(what="pair of a short and a long form"))
    stderr_console().print(_causes_table(result["errors"]))
    show(_scores_table(result), result)


@evaluate.command("composites")
def composites(
    corpus: Corpus,
    format: Format = None,
    type: Type = None,
    kb: Annotated[str | None, typer.Option(help="A store, or 'starter': count what its linker splits wrongly.")] = None,
    encoder: Annotated[str, typer.Option(help="With --kb: 'starter', a folder, a hub name, or 'none'.")] = "starter",
) -> None:
    """How well composite mentions are split, on mentions whose parts the corpus writes (BC5CDR does)."""
    from ..evaluation.composites import decide_by, evaluate_composites

    documents = track(read_corpus(corpus, format), stderr_console())
    mentions = (
        mention
        for document in documents
        for mention in document.mentions
        if type is None or has_type(mention.label, [type])
    )
    result = evaluate_composites(mentions, decide=decide_by(kb, encoder) if kb else None)
    if not result["connector"]["n"] + result["no_connector"]["n"] + result["wrong_splits"]["of"]:
        raise SapbertError(Errors.E518.format(what="mention with parts or a connector"))
    stderr_console().print(_splits_table(result["errors"]))
    show(_composites_table(result), result)


evaluate.command("concepts")(concepts)
evaluate.command("pipeline")(pipeline)
evaluate.command("separation")(separation)


def _linking_table(result: Mapping[str, Any]) -> Table:
    all_mentions = {"n": result["mentions"], "lenient": result["lenient_all"], "strict": result["strict_all"]}
    covered = {"n": result["covered"], "lenient": result["lenient"], "strict": result["strict"]}
    rows = {"all": all_mentions, "covered": covered, **{f"… {name}": row for name, row in result["slices"].items()}}
    headings = [f"{measure} {cutoff}" for measure in ("lenient", "strict") for cutoff in result["lenient"]]
    table = table_of_numbers("mentions", "n", *headings)
    for name, row in rows.items():
        accuracies = [value for measure in ("lenient", "strict") for value in row[measure].values()]
        table.add_row(name, f"{row['n']:,}", *map(_decimal, accuracies))
    floor, recall = _decimal(result["exact_match_floor"]), _decimal(result["candidate_recall@20"])
    table.caption = f"covered: exact match {floor}, candidate recall@20 {recall}"
    return table


def _errors_table(report: ErrorReport) -> Table:
    table = table_of_numbers("kind of error", "n", "share")
    table.add_column("such as")
    for kind, row in report.summary().items():
        examples = "\n".join(map(_told_error, report.examples[kind]))
        table.add_row(kind, f"{row['n']:,}", _decimal(row["share"]), examples)
    if not report.has_relations:
        table.caption = "The vocabulary has no is_a relations, so hypernyms and hyponyms cannot be told."
    return table


def _told_error(error: LinkingError) -> str:
    candidates = error.part.candidates if error.part else ()
    matched, gold = (
        candidates[0].name if candidates else "nothing",
        " or ".join(one.canonical_name for one in error.gold),
    )
    return f"{error.linked.mention.text} → {matched}, not {gold}"


def _training_table(epochs: Sequence[Mapping[str, Any]]) -> Table:
    table = table_of_numbers("epoch", "step", "lenient acc@1", "strict acc@1", "recall@20", "λ")
    for line in epochs:
        shares = [
            None if line[name] is None else 100 * line[name] for name in ("link_acc", "link_strict", "link_recall")
        ]
        table.add_row(str(line["epoch"]), f"{line['step']:,}", *map(_decimal, shares), _decimal(line["link_lambda"]))
    return table


def _candidates_table(mention: str, epochs: Sequence[Mapping[str, Any]]) -> Table:
    found = [line["candidates"].get(mention, []) for line in epochs]
    table = Table("epoch", "step", *map(str, range(1, max(map(len, found)) + 1)), title=mention, title_justify="left")
    for line, candidates in zip(epochs, found, strict=True):
        cells = [f"{one['name']} ({one['id']}) {one['score']:.2f}" for one in candidates]
        table.add_row(str(line["epoch"]), f"{line['step']:,}", *cells)
    return table


def _comparison_table(result: Mapping[str, Any]) -> Table:
    table = table_of_numbers("measure", "A", "B", "B - A", "95 % interval", "p")
    rows = {name: row for name, row in result.items() if isinstance(row, Mapping)}
    if "mentions" in result:
        rows = {f"{name} {cutoff}": row for name, cutoffs in rows.items() for cutoff, row in cutoffs.items()}
    for name, row in rows.items():
        interval = f"{row['low']:+.2f} … {row['high']:+.2f}"
        figures = _decimal(row["a"]), _decimal(row["b"]), f"{row['difference']:+.2f}", interval, f"{row['p']:.4f}"
        table.add_row(name, *figures)
    mentions = f"{result['mentions']:,} mentions in " if "mentions" in result else ""
    table.caption = f"{mentions}{result['documents']:,} documents"
    return table


def _scores_table(result: Mapping[str, Any]) -> Table:
    table = table_of_numbers("definitions", "precision", "recall", "F1")
    for name, scores in {"strict": result, "lenient": result["lenient"]}.items():
        table.add_row(name, *(_decimal(scores[measure]) for measure in ("p", "r", "f1")))
    table.caption = f"{result['pairs']:,} pairs"
    return table


def _causes_table(errors: Mapping[str, Sequence[Mapping[str, str]]]) -> Table:
    table = Table("cause", "n", "such as")
    for cause, found in sorted(errors.items(), key=lambda entry: -len(entry[1])):
        table.add_row(cause, str(len(found)), f"{found[0]['short']} | {found[0]['long']} ({found[0]['pmid']})")
    return table


def _composites_table(result: Mapping[str, Any]) -> Table:
    table = table_of_numbers("mentions with gold parts", "n", "exact", "part P", "part R", "part F1")
    groups = {"connector": "connector", "no_connector": "no connector", "decided": "connector, as linked"}
    for group, label in groups.items():
        if group in result:
            n, *figures = result[group].values()
            table.add_row(label, f"{n:,}", *map(_decimal, figures))
    table.caption = f"wrongly split: {result['wrong_splits']['n']} of {result['wrong_splits']['of']} single mentions"
    return table


def _splits_table(errors: Mapping[str, Sequence[Mapping[str, Any]]]) -> Table:
    """What is not split as the corpus has it; a part of that is convention, which only reading can tell."""
    table = Table("mention", "gold", "predicted")
    for found in errors.values():
        for error in found:
            table.add_row(error["text"], " | ".join(error["gold"]), " | ".join(error["predicted"]))
    return table


def _decimal(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
