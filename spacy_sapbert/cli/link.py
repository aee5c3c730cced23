"""Define `spacy-sapbert link`, which links the mentions of documents."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from ..documents.formats import InputFormat, OutputFormat, output_format
from ..documents.input_documents import Problems, ReadOptions, read_all
from ..documents.totals import total_documents
from ..errors import Errors, SapbertError
from ..files.console import stderr_console, track
from ..files.output import is_special
from ..outputs.tables import check_parquet
from ..review.corrections_file import CorrectionsFile
from ..types import NIL, Document
from .code_options import Also, CodeMapping, CodeOptions, Predicates
from .inputs import (
    BatchSize,
    DisplayLanguage,
    Encoding,
    Format,
    Gold,
    IdColumn,
    Inputs,
    JoinPassages,
    NProcess,
    Pipeline,
    Strict,
    TextColumn,
    TitleColumn,
    with_formats,
)
from .interrupting import Interruption, command_line
from .link_corpus import EngineOptions, check_engine, link_corpus
from .options import grouped

if TYPE_CHECKING:
    from ..outputs.records import LinkedDocument, Record
    from ..runs.journal import Journal
    from ..runs.pipelines import LinkingPipeline

Sources = Sequence[tuple[Path, ReadOptions]]

_TO_HELP = "Format of the output. Default: by the ending of the file; jsonl for standard output."
_OUTPUT_HELP = "File to write. Default: standard output."
_RESUME_HELP = "Go on with an interrupted run, if there is one."
_CORRECTIONS_HELP = "File of corrections to obey, see `review`. It replaces that of the pipeline."
_RESTART_HELP = "Throw an interrupted run away, and begin again."


@grouped
def link(
    pipeline: Pipeline,
    inputs: Inputs,
    corpus: EngineOptions,
    format: Format = None,
    to: Annotated[OutputFormat | None, typer.Option(help=_TO_HELP)] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help=_OUTPUT_HELP)] = None,
    resume: Annotated[bool, typer.Option("--resume", help=_RESUME_HELP)] = False,
    restart: Annotated[bool, typer.Option("--restart", help=_RESTART_HELP)] = False,
    strict: Strict = False,
    batch_size: BatchSize = None,
    n_process: NProcess = 1,
    text_column: TextColumn = None,
    id_column: IdColumn = None,
    title_column: TitleColumn = None,
    encoding: Encoding = None,
    gold: Gold = False,
    join_passages: JoinPassages = True,
    display_language: DisplayLanguage = None,
    corrections: Annotated[Path | None, typer.Option(help=_CORRECTIONS_HELP)] = None,
    also: Also = None,
    mapping: CodeMapping = None,
    predicates: Predicates = None,
) -> None:
    """Link the mentions of documents to the concepts of a vocabulary.

    Offsets count the characters of the title and the text, which are joined by a blank.
    Broken records are reported, counted and left out.
    With --output, an interrupted run keeps the finished documents. Start it again with --resume.
    With --engine, the output is a folder, and a rerun links only what is missing.
    """
    if corpus.engine:
        others = {"--resume": resume, "--restart": restart, "--batch-size": batch_size}
        folder = check_engine(output, to, inputs, others)
    reading = ReadOptions(format, text_column, id_column, title_column, encoding, gold, join_passages)
    sources = with_formats(inputs, format, reading)
    adding = CodeOptions.checked(also, mapping, predicates)
    problems = Problems(stderr_console(), strict=strict)
    if corpus.engine:
        link_corpus(
            pipeline,
            sources,
            folder,
            corpus,
            problems,
            workers=n_process,
            language=display_language,
            adding=adding,
            corrections=corrections,
        )
        return
    if resume and restart:
        raise typer.BadParameter("give either --resume or --restart", param_hint="--restart")
    to = to or output_format(output)
    if to is OutputFormat.parquet:
        check_parquet(output)  # before hours of work
    run = _Run(pipeline, inputs, sources, problems, batch_size, n_process, display_language, adding, corrections)
    if output is None or is_special(output):
        if resume or restart:
            raise SapbertError(Errors.E565.format(option="--resume" if resume else "--restart"))
        counts = run.stream(to, output)
    else:
        counts = run.with_journal(to, output, resume=resume, restart=restart)
    problems.show_passages()
    done = f"{counts['documents']:,} documents, {counts['mentions']:,} mentions, {counts['linked']:,} of them linked"
    run.console.print(f"{done}; {run.problems.count:,} broken records left out")


class _Run:
    """A run of the command: all documents from the inputs to the output."""

    def __init__(
        self,
        pipeline: str,
        inputs: Sequence[Path],
        sources: Sources,
        problems: Problems,
        batch_size: int | None,
        n_process: int,
        display_language: str | None,
        adding: CodeOptions | None,
        corrections: Path | None,
    ) -> None:
        self.problems = problems
        self.console: Console = problems.console
        self._pipeline = pipeline
        self._inputs = inputs
        self._sources = sources
        self._batch_size = batch_size
        self._n_process = n_process
        self._display_language = display_language
        self._adding = adding
        self._corrections = CorrectionsFile(corrections) if corrections else None

    def stream(self, format: OutputFormat, output: Path | None) -> Counter[str]:
        """Write each document as soon as it is linked."""
        from ..outputs.writers import write_records

        linking = self._load()
        record_of = self._records(linking)
        counts: Counter[str] = Counter()

        def records() -> Iterator[dict[str, Any]]:
            shown = output is not None or not sys.stdout.isatty()
            with closing(self._linked(linking, self._documents())) as linked:
                for item in track(linked, self.console, shown=shown):
                    counts.update(documents=1, **_counts(item))
                    yield record_of(item)
            self._check(counts)

        write_records(records(), format, output)
        return counts

    def with_journal(self, format: OutputFormat, output: Path, *, resume: bool, restart: bool) -> Counter[str]:
        """Keep each document in a journal as soon as it is linked, and write the output at the end."""
        from ..outputs.writers import write_records
        from ..runs.journal import Journal, identity_of

        with Journal(output, resume=resume, restart=restart) as journal, self._keeping(journal) as interruption:
            linking = self._load()
            reading = [options for _, options in self._sources]
            record_of = self._records(linking)
            journal.begin(identity_of(linking, self._inputs, reading, self._batch_size, self._shown(linking)))
            if journal.counts["documents"]:
                self.console.print(f"{journal.counts['documents']:,} documents are already finished")
            self._link_all(linking, journal, record_of, lambda: interruption.signal is not None)
            self._check(journal.counts)
            write_records(journal.records(), format, output)
            journal.finish()
            return journal.counts

    def _link_all(
        self,
        linking: LinkingPipeline,
        journal: Journal,
        record_of: Callable[[LinkedDocument], Record],
        is_stopped: Callable[[], bool],
    ) -> None:
        total, done = total_documents(self._sources), journal.counts["documents"]
        unfinished = journal.unfinished(self._documents(), self.problems, linking.nlp.max_length)
        documents = takewhile(lambda _: not is_stopped(), unfinished)
        with closing(self._linked(linking, documents)) as linked:
            for item in track(linked, self.console, total=total, done=done):
                journal.add(item.document, record_of(item), batch=item.batch, **_counts(item))
        if is_stopped():
            raise KeyboardInterrupt

    @contextmanager
    def _keeping(self, journal: Journal) -> Iterator[Interruption]:
        """Say how to go on if the block ends early, and end the command if it was interrupted."""
        from ..runs.journal import OtherRun

        # several processes finish what they have begun, which is kept, too
        with Interruption(at_once=self._n_process == 1) as interruption:
            try:
                yield interruption
            except KeyboardInterrupt:
                self.console.print(_how_to_go_on("Interrupted", journal.n_kept()))
                raise typer.Exit(interruption.status) from None
            except SapbertError as error:
                if isinstance(error, OtherRun) or not journal.n_kept():
                    raise
                raise SapbertError(f"{error}\n{_how_to_go_on('Stopped', journal.n_kept())}") from error

    def _load(self) -> LinkingPipeline:
        from ..runs.pipelines import LinkingPipeline

        given = any(options.gold or options.format is InputFormat.names for _, options in self._sources)
        linking = LinkingPipeline(self._pipeline, self.problems, given=given)
        if self._corrections:
            linking.set_corrections(str(self._corrections.path))
        return linking

    def _records(self, linking: LinkingPipeline) -> Callable[[LinkedDocument], Record]:
        """Return the function that makes the record of a document."""
        from ..outputs.records import record_of

        codes = self._adding.open(linking.kb, self.console) if self._adding else None
        return partial(record_of, kb=linking.kb, language=self._language(linking), codes=codes)

    def _language(self, linking: LinkingPipeline) -> str:
        from ..kb.languages import display_tag

        given = self._display_language
        return linking.display_language if given is None else display_tag(linking.kb, given)

    def _shown(self, linking: LinkingPipeline) -> dict[str, Any]:
        """Return what the records depend on, besides the links."""
        language = self._language(linking)
        return {
            **({"display language": language} if language else {}),
            **(self._adding.identity() if self._adding else {}),
            **({"corrections": self._corrections.fingerprint} if self._corrections else {}),
        }

    def _documents(self) -> Iterator[Document]:
        return read_all(self._sources, self.problems)

    def _linked(self, linking: LinkingPipeline, documents: Iterator[Document]) -> Generator[LinkedDocument, None, None]:
        return linking(
            documents,
            batch_size=self._batch_size,
            n_process=self._n_process,
            short_lived=True,
            independent_batches=True,
        )

    def _check(self, counts: Mapping[str, int]) -> None:
        if self.problems.count and not counts["documents"]:
            raise SapbertError(Errors.E508.format(n=self.problems.count))


def _counts(item: LinkedDocument) -> dict[str, int]:
    linked = sum(mention.kb_id_ not in ("", NIL) for mention in item.mentions)
    return {"mentions": len(item.mentions), "linked": linked}


def _how_to_go_on(reason: str, finished: int) -> str:
    if not finished:
        return f"{reason}. No document was finished, so nothing is kept."
    given = [argument for argument in sys.argv[1:] if argument not in ("--resume", "--restart")]
    command = command_line([*given, "--resume"])
    return f"{reason}. {finished:,} finished documents are kept. To go on: {command}"
