"""Define `spacy-sapbert review`: the review page, and what becomes of the corrections."""

from __future__ import annotations

import getpass
import os
import webbrowser
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from ..documents.formats import output_format
from ..documents.input_documents import Problems, ReadOptions, read_all
from ..errors import EmptyError, OptionError, requiring
from ..files.console import show, stderr_console, track
from ..files.opening import without_gz
from ..files.output import ScratchFolder, open_output, refuse_input, replacing
from ..files.values import table_lines
from ..review.corrections_file import CorrectionsFile, open_corrections
from ..review.export import mention_records, name_rows, review_report, reviewed_documents
from ..review.queue import ORDERS, Record, read_links
from ..serve.settings import LOCAL_HOSTS, address_of, is_local, listen
from ..types import Document
from .inputs import To, reading_options

if TYPE_CHECKING:
    from spacy.language import Language

    from ..runs.document_linker import LinkingPipeline
    from ..serve.review_session import ReviewSession

PAGE = "page"
_MAX_CONNECTIONS = 512
_SOURCE_HELP = "Pipeline that links the documents: a folder or package. Or the JSON lines that `link` wrote."
_NO_ENCRYPTION = "Others can reach this page if they know its address. Notes are sent without encryption."
_TOO_FEW = "Too few decisions to measure what it learned: {n}. At least {least} are needed, in five documents."
_PIPELINE_HELP = "With the JSON lines of `link`: the pipeline that made them. The page searches its vocabulary."


class _PageByDefault(TyperGroup):
    """Takes `review SOURCE …` for `review page SOURCE …`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        is_help = args[:1] in (["--help"], [])
        if not is_help and args[0] not in self.commands:
            args = [PAGE, *args]
        return super().parse_args(ctx, args)


review = typer.Typer(
    cls=_PageByDefault,
    no_args_is_help=True,
    help="Review links in the browser. `review SOURCE …` is short for `review page SOURCE …`.",
)

Corrections = Annotated[str, typer.Argument(help="File or PostgreSQL address of corrections.", show_default=False)]


Order = Enum("Order", {name: name for name in ORDERS}, type=str)  # type: ignore[misc]
_FIRST_ORDER = Order("expected-errors")


@review.command(PAGE)
def page(
    source: Annotated[str, typer.Argument(help=_SOURCE_HELP, show_default=False)],
    inputs: Annotated[list[Path] | None, typer.Argument(help="Documents to link: files or folders.")] = None,
    corrections: Annotated[
        str,
        typer.Option("--corrections", "-c", help="File or PostgreSQL address. It is created if it does not exist."),
    ] = "corrections.db",
    pipeline: Annotated[str | None, typer.Option(help=_PIPELINE_HELP)] = None,
    corpus: Annotated[
        str | None,
        typer.Option(help="Name of the corpus. Default: that of the first input."),
    ] = None,
    author: Annotated[str | None, typer.Option(help="Name of the reviewer. Default: the user name.")] = None,
    order: Annotated[Order, typer.Option(help="Which texts come first.")] = _FIRST_ORDER,
    blind: Annotated[bool, typer.Option("--blind", help="Hide what other reviewers decided.")] = False,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on. 0 chooses a free port.")] = 5001,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
) -> None:
    """Open a page with the links that a person should look at first.

    Each decision is in the file of corrections at once. Stop with Ctrl+C, and start again at any time.
    If the documents need more options to be read, link them first, and review the JSON lines.
    The command needs the extra `web` of spacy-sapbert.
    """
    with requiring("web", "`review page`"):
        import uvicorn

        from ..serve.review_app import make_review_app
        from ..serve.server import server_config

    _check_source(source, inputs or [], pipeline)
    problems = Problems(stderr_console())
    reading = reading_options(inputs or [])
    sources = [(path, reading) for path in inputs or []]
    file = open_corrections(corrections, create=True)
    file.check_writable()
    with listen(host, port) as listening:
        session = _session(
            file,
            *_links(source, sources, pipeline, problems),
            corpus=corpus or Path(os.path.realpath((inputs or [Path(source)])[0])).name,
            author=author if author is not None else _user(),
            blind=blind,
            order=order,
        )
        address = f"{address_of(listening, host)}/{file.secret}/"
        progress = session.queue.progress
        problems.console.print(f"mentions: {progress.mentions:,}; decided in {corrections}: {progress.decided:,}")
        problems.console.print(f"{address} shows the page. Press Ctrl+C to stop.", soft_wrap=True)
        if not is_local(host):
            problems.console.print(_NO_ENCRYPTION)
        if browser:
            webbrowser.open(address)
        app = make_review_app(session, hosts=[*LOCAL_HOSTS, host] if is_local(host) else ["*"])
        config = server_config(app, _MAX_CONNECTIONS, log_level="warning")
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])


@review.command("export")
def export(
    corrections: Corrections,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Corpus to write: .spacy, .xml (BioC), or another format of `link`."),
    ],
    to: To = None,
    names: Annotated[
        Path | None, typer.Option(help="Table of names to write, which `kb build` reads with the vocabulary.")
    ] = None,
    complete: Annotated[
        bool, typer.Option("--complete", help="Only documents without an undecided mention, to train an NER.")
    ] = False,
) -> None:
    """Export corrections as training data: the decided mentions of the reviewed documents."""
    refuse_input(output, [corrections])
    refuse_input(names, [corrections, output], "--names")
    file = open_corrections(corrections)
    counts: Counter[str] = Counter()
    documents = list(reviewed_documents(file, counts, complete=complete))
    if not documents:
        left_out = counts["incomplete documents left out"]
        raise EmptyError(
            "Decide some mentions with `spacy-sapbert review`.",
            what=f"decided mention in {corrections}",
            consequence=f"nothing was written ({left_out} incomplete documents were left out)",
        )
    _write_corpus(documents, output, to)
    show({"file": str(output), **counts})
    if names:
        name_counts: Counter[str] = Counter()
        with open_output(names) as write:
            for line in table_lines(name_rows(file, name_counts), quoted=False):
                write(line)
        show({"file": str(names), **name_counts})


@review.command("report")
def report(corrections: Corrections) -> None:
    """Show the precision of links by probability, the most corrected concepts, and how far reviewers agree."""
    show(review_report(open_corrections(corrections)))


@review.command("train")
def train(
    pipeline: Annotated[
        str,
        typer.Argument(help="Pipeline to start from: a folder or package. Or a knowledge base.", show_default=False),
    ],
    corrections: Corrections,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the new pipeline.")],
    measure: Annotated[
        bool, typer.Option(help="Also measure what it learned, on decisions that were held out. This takes longer.")
    ] = True,
) -> None:
    """Make a pipeline that decides as the reviewers did, also in other documents.

    It obeys the corrections. The texts that were linked become names of their concepts. Short forms, and texts with
    different decisions, keep the scope of their corrections.
    """
    from ..evaluation.review_training import FEWEST_DECISIONS, held_out_decisions, review_gain, train_on_review
    from ..pipeline.assemble import check_output, save_pipeline

    check_output(output)
    refuse_input(output, [corrections])
    file = open_corrections(corrections)
    if not file.corrections():
        what, consequence = f"correction in {corrections}", "there is nothing to learn"
        raise EmptyError("Decide some mentions with `spacy-sapbert review`.", what=what, consequence=consequence)
    console, opened = stderr_console(), partial(_opened, pipeline)
    # measured first, since the new pipeline may replace the old one
    follow = partial(track, console=console, unit="parts")
    decisions = held_out_decisions(opened, file, Problems(console), follow) if measure else []
    gain = review_gain(decisions)
    with ScratchFolder() as folder:
        nlp = opened()
        counts = train_on_review(nlp, file, folder)
        save_pipeline(nlp, output)
    if measure and not gain:
        console.print(_TOO_FEW.format(n=len(decisions), least=FEWEST_DECISIONS))
    show({"pipeline": str(output), **counts, "held_out": gain})


@review.command("upgrade")
def upgrade(
    corrections: Corrections,
    knowledge_base: Annotated[str, typer.Argument(help="The new release: a knowledge base file.", show_default=False)],
    output: Annotated[Path, typer.Option("--output", "-o", help="New file of corrections.")],
    old: Annotated[
        str | None, typer.Option("--from", help="Knowledge base of the old release, to report its names, too.")
    ] = None,
) -> None:
    """Carry corrections over to a new release of the vocabulary.

    Replaced ids become those that replace them. Concepts that were removed or divided need a person, and stay as they
    are. The old file is not changed.
    """
    from ..kb.storage import load_knowledge_base
    from ..review.export import REPLACED, SAME, concept_changes, write_upgraded

    refuse_input(output, [corrections, knowledge_base, old])
    if output.exists():
        reason = "this file exists, and may hold decisions"
        raise OptionError("Choose another name.", option=f"--output {output}", reason=reason)
    file, before = open_corrections(corrections), load_knowledge_base(old) if old else None
    rows = concept_changes(file, load_knowledge_base(knowledge_base), before)
    changes = [row for row in rows if row["change"] != SAME]
    with replacing(output) as path:
        replaced = {row["id"]: row["into"][0] for row in changes if row["change"] == REPLACED}
        counts = {"corrections_changed": write_upgraded(file, path, replaced)}
    counts |= Counter(row["change"] for row in rows)
    show({"file": str(output), **counts, "changes": changes})


def _opened(pipeline: str) -> Language:
    """Return a saved pipeline, or a new one for a knowledge base."""
    from ..pipeline.assemble import new_pipeline
    from ..pipeline.tokenizer import load_pipeline

    return new_pipeline(pipeline) if Path(pipeline).is_file() else load_pipeline(pipeline)


# --- the page


def _check_source(source: str, inputs: list[Path], pipeline: str | None) -> None:
    """Check the arguments, before a file is made."""
    is_links = Path(source).is_file()
    if is_links != (pipeline is not None) or is_links == bool(inputs):
        raise OptionError(
            "Use `review PIPELINE NOTES`, or `review LINKS.jsonl --pipeline PIPELINE`.",
            option=f"SOURCE {source}",
            reason="a pipeline needs documents, and the JSON lines of `link` need the pipeline that made them",
        )


def _links(
    source: str, sources: list[tuple[Path, ReadOptions]], pipeline: str | None, problems: Problems
) -> tuple[LinkingPipeline, Iterable[Record]]:
    """Return the pipeline, and the records of the documents that it links or that `link` wrote."""
    from ..runs.document_linker import LinkingPipeline, LinkSettings

    if pipeline is not None:
        return LinkingPipeline(LinkSettings(pipeline), problems), read_links(Path(source))
    given = any(options.format == "names" for _, options in sources)
    linking = LinkingPipeline(LinkSettings(source, given), problems)
    linking.set_corrections(None)  # the page shows what the linker thinks, and what was decided
    return linking, track(linking(read_all(sources, problems)), problems.console, share=problems.share)


def _session(
    file: CorrectionsFile, linking: LinkingPipeline, records: Iterable[Record], order: Order, **settings: Any
) -> ReviewSession:
    from ..serve.review_session import ReviewSession

    session = ReviewSession(file, linking, records, order=ORDERS[order.value], **settings)
    if not session.queue.mentions:
        raise EmptyError(
            "Check the vocabulary of the pipeline, or add a component that finds mentions.",
            what="mention that the pipeline links",
            consequence="there is nothing to review",
        )
    return session


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a container can have a user without a name
        return ""


# --- the report


def _write_corpus(documents: list[Document], output: Path, to: str | None = None) -> None:
    """Write a corpus in a format, or that of the file name, for which a `.json` is BioC."""
    if output.suffix == ".spacy":
        from ..documents.docbin import write_docbin
        from ..documents.docs import to_doc
        from ..pipeline.tokenizer import blank_pipeline

        nlp = blank_pipeline("en")
        write_docbin((to_doc(nlp, document, split_tokens=True) for document in documents), output)
        return
    from ..outputs.writers import write_records

    is_json = without_gz(output).suffixes == [".json"]
    to = to or ("biocjson" if is_json else output_format(output))
    write_records(mention_records(documents), to, output)
