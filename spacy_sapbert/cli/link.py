"""Define `spacy-sapbert link`, which links the mentions of documents."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from warnings import warn

import typer
from rich.console import Console

from ..documents.formats import InputFormat, OutputFormat, output_format
from ..documents.input_documents import Problems, ReadOptions, begun, read_all
from ..errors import ChoiceError, Errors, MissingExtraError, OptionError, SapbertError, Warnings
from ..files.console import progress_callback, stderr_console, track
from ..files.opening import STDIN
from ..files.output import is_special, refuse_input
from ..files.postgres import is_postgres
from ..review.corrections_database import open_corrections
from ..types import Document
from .endings import command_line, exit_status
from .inputs import (
    Columns,
    DisplayLanguage,
    Encoding,
    Format,
    Gold,
    Inputs,
    NProcess,
    Pipeline,
    Strict,
    open_inputs,
)
from .kb_map import Also, CodeMapping, CodeOptions

if TYPE_CHECKING:
    from ..runs.corpus_run import CorpusRun
    from ..runs.document_linker import LinkSettings, LoadedLinker
    from ..runs.file_run import ChunkResult, Parts

Sources = Sequence[tuple[Path, ReadOptions]]

_TO_HELP = "Format of the output. Default: by the ending of the file; jsonl for standard output."
_OUTPUT_HELP = (
    "File to write, or folder with --engine, or postgresql:// address of a table NOTE_NLP. Default: standard output."
)
_RESUME_HELP = "Go on with an interrupted run, if there is one; or throw it away."
_CORRECTIONS_HELP = "File or PostgreSQL address of corrections to obey, see `review`. It replaces that of the pipeline."
_ENGINE_HELP = (
    "Link each file of the input to a Parquet file in the folder --output: local, ray or spark. A Ray cluster or Spark "
    "master elsewhere: ray=ADDRESS, spark=ADDRESS."
)
_CANDIDATES_HELP = "List so many candidates of each link, whatever their scores; in tables as columns."
_CONCEPTS_HELP = "Table CONCEPT of OMOP, as Athena writes it, or the postgresql:// address of the vocabulary."
_PATIENT_RECORDS = frozenset({OutputFormat.omop, OutputFormat.fhir, OutputFormat.phenopacket})
_SHOWN = 10
_MOST_CANDIDATES = 20


def link(
    pipeline: Pipeline,
    inputs: Inputs,
    format: Format = None,
    to: Annotated[OutputFormat | None, typer.Option(help=_TO_HELP)] = None,
    output: Annotated[str | None, typer.Option("--output", "-o", help=_OUTPUT_HELP)] = None,
    resume: Annotated[bool | None, typer.Option("--resume/--restart", help=_RESUME_HELP)] = None,
    strict: Strict = False,
    n_process: NProcess = 1,
    column: Columns = None,
    encoding: Encoding = None,
    gold: Gold = False,
    display_language: DisplayLanguage = None,
    corrections: Annotated[str | None, typer.Option(help=_CORRECTIONS_HELP)] = None,
    candidates: Annotated[int, typer.Option(min=0, max=_MOST_CANDIDATES, help=_CANDIDATES_HELP)] = 0,
    also: Also = None,
    mapping: CodeMapping = None,
    engine: Annotated[str | None, typer.Option(help=_ENGINE_HELP)] = None,
    concepts: Annotated[str | None, typer.Option(help=_CONCEPTS_HELP)] = None,
) -> None:
    """Link the mentions of documents to the concepts of a vocabulary.

    Offsets count the characters of the title and the text, which are joined by a blank.
    Broken records are reported, counted and left out.
    With --output, an interrupted run keeps the finished documents. Start it again with --resume.
    With --engine, the output is a folder, and a rerun links only what is missing.
    """
    if mapping and not also:
        raise typer.BadParameter("it needs --also with the vocabularies of the codes", param_hint="--mapping")
    if engine and concepts:
        raise OptionError(option="--concepts", reason="--engine writes tables of links only")
    place = output if output is None or is_postgres(output) else Path(output)
    if is_postgres(place):
        concepts, to = concepts or output, to or OutputFormat.omop
    folder = _check_engine(engine, place, to, inputs, resume) if engine else None
    problems = Problems(stderr_console(), strict=strict)
    sources = open_inputs(inputs, format, column, encoding, gold=gold)
    codes = CodeOptions.of(also, mapping, problems.console) if also else None
    corrections_file = open_corrections(corrections) if corrections else None
    from ..runs.document_linker import LinkSettings

    settings = LinkSettings(
        str(Path(pipeline).resolve()) if Path(pipeline).exists() else pipeline,
        given=any(options.gold or options.format is InputFormat.names for _, options in sources),
        corrections=corrections_file.address if corrections_file else None,
        language=display_language,
        codes=codes,
        candidates=candidates,
    )
    shown = {
        "given mentions": settings.given,
        **(codes.identity() if codes else {}),
        **({"corrections": corrections_file.fingerprint} if corrections_file else {}),
        **({"candidates": candidates} if candidates else {}),
    }
    if engine and folder:
        _link_corpus(settings, sources, folder, engine, problems, n_process, shown)
        return
    path = place if isinstance(place, Path) else None
    refuse_input(path, [*inputs, Path(pipeline), corrections, concepts, *(mapping or [])], in_folders=True)
    to = to or output_format(path)
    from ..outputs.writers import check_output

    check_output(place, to, concepts)
    is_stream = path is None or is_special(path)
    if is_stream and resume is not None:
        reason = "only a run with a file as --output keeps its documents"
        raise OptionError(option="--resume or --restart", reason=reason)
    run = _Run(settings, sources, problems, n_process, concepts)
    if path is None or is_stream:
        run.stream(to, place)
    else:
        run.in_parts(to, path, resume, shown)
    problems.show_passages()
    counts = run.counts
    done = f"{counts['documents']:,} documents, {counts['mentions']:,} mentions, {counts['linked']:,} of them linked"
    problems.console.print(f"{done}; {problems.broken:,} broken records left out")


class _Run:
    """A run of the command with one output."""

    def __init__(
        self, settings: LinkSettings, sources: Sources, problems: Problems, n_process: int, concepts: str | None
    ) -> None:
        from ..runs.document_linker import NO_LIMIT
        from ..runs.file_run import ChunkWork

        self.counts: Counter[str] = Counter()
        self._work = ChunkWork(settings._replace(max_characters=NO_LIMIT, seconds=float("inf")))
        self._sources = sources
        self._problems = problems
        self._n_process = n_process
        self._concepts = concepts

    def stream(self, format: OutputFormat, output: Path | str | None) -> None:
        """Write the documents as soon as they are linked."""
        from ..outputs.writers import write_records

        self._begin(format)
        records = (record for result in self._results() for record in result.records)
        shown = output is not None or not sys.stdout.isatty()
        write_records(track(records, self._problems.console, shown=shown), format, output, concepts=self._concepts)

    def in_parts(self, format: OutputFormat, output: Path, resume: bool | None, settings: Mapping[str, Any]) -> None:
        """Keep documents in parts as soon as they are linked, and write the output at the end."""
        from ..outputs.writers import write_records
        from ..runs.file_run import OtherRun, open_parts

        console, n_before = self._problems.console, 0
        with open_parts(output, resume=resume) as parts:
            try:
                loaded = self._begin(format)
                parts.begin(loaded.identity({"display language": loaded.language, **settings}))
                with progress_callback(console, "documents", self._problems.share) as update:
                    for result in self._results(parts):
                        n_before += result.is_old * result.counts["documents"]
                        update(self.counts["documents"], 0)
                if n_before:
                    console.print(f"{n_before:,} documents were already finished")
                write_records(parts.records(), format, output, concepts=self._concepts)
                parts.finished = True
            except KeyboardInterrupt as error:
                console.print(_how_to_go_on("Interrupted", parts.n_documents))
                raise typer.Exit(exit_status(error)) from None
            except SapbertError as error:
                if isinstance(error, OtherRun) or not parts.n_documents:
                    raise
                raise SapbertError(f"{error}\n{_how_to_go_on('Stopped', parts.n_documents)}") from error

    def _begin(self, format: OutputFormat) -> LoadedLinker:
        """Load the pipeline, after the first document, so that what cannot be read is reported at once."""
        from ..pipeline.factories import ASSERTION
        from ..runs.document_linker import linker_of

        documents = read_all(self._sources, self._problems)
        self._documents = begun(_with_note_ids(documents, self._problems) if self._concepts else documents)
        loaded = linker_of(self._work.settings).load()
        nlp = loaded.pipeline.nlp
        if format in _PATIENT_RECORDS and not any(
            nlp.get_pipe_meta(name).factory == ASSERTION for name in nlp.pipe_names
        ):
            warn(Warnings.W513.format(format=format.value, component=ASSERTION), stacklevel=2)
        return loaded

    def _results(self, parts: Parts | None = None) -> Iterator[ChunkResult]:
        with closing(self._work.stream(self._documents, self._problems, self._n_process, parts)) as results:
            for result in results:
                self.counts += result.counts
                yield result
        if self._problems.broken and not self.counts["documents"]:
            raise SapbertError(Errors.E508.format(n=self._problems.broken))


def _with_note_ids(documents: Iterator[Document], problems: Problems) -> Iterator[Document]:
    """Leave out and report the documents that no row of OMOP can refer to."""
    from ..outputs.health_records import note_id_of

    for document in documents:
        if note_id_of(document.doc_id) is None:
            problems.report(document.position, f"the id {document.doc_id!r} is no whole number, as a note_id must be")
        else:
            yield document


def _how_to_go_on(reason: str, finished: int) -> str:
    if not finished:
        return f"{reason}. No document was finished, so nothing is kept."
    given = [argument for argument in sys.argv[1:] if argument not in ("--resume", "--restart")]
    command = command_line([*given, "--resume"])
    return f"{reason}. {finished:,} finished documents are kept. To go on: {command}"


# --- with an engine


def _check_engine(
    engine: str, output: Path | str | None, to: OutputFormat | None, inputs: Sequence[Path], resume: bool | None
) -> Path:
    """Check the options that do not fit to an engine, and return the output folder."""
    from ..runs.engines import ENGINES

    if engine.partition("=")[0] not in ENGINES:
        raise ChoiceError(given=engine, what="engine", choices=ENGINES)
    if not isinstance(output, Path) or output.is_file():
        raise OptionError(option="--engine", reason="--output must be a folder, which may be new")
    if to not in (None, OutputFormat.parquet):
        raise OptionError(option="--engine", reason="--to must be parquet")
    if STDIN in inputs:
        raise OptionError(option="--engine", reason="a rerun could not read standard input again")
    if resume is not None:
        raise OptionError(option="--engine", reason="a rerun always goes on, so --resume and --restart have no effect")
    refuse_input(output, inputs, in_folders=True)
    if not find_spec("pyarrow"):
        raise MissingExtraError(what="An engine", package="pyarrow", extra="parquet")
    return output


def _link_corpus(
    settings: LinkSettings,
    sources: Sources,
    output: Path,
    engine: str,
    problems: Problems,
    workers: int,
    shown: dict[str, Any],
) -> None:
    """Link a corpus in partitions, show the progress, and end with status 1 if a partition has no links."""
    from ..runs.corpus_run import CorpusRun
    from ..runs.engines import engine as engine_of

    if settings.language:
        shown = {"display language": settings.language, **shown}
    name, _, address = engine.partition("=")
    console, started, done = problems.console, time.monotonic(), Counter[str]()
    inputs = [(path.absolute(), options) for path, options in sources]  # processes elsewhere have other working folders
    corpus = CorpusRun(settings, inputs, output.absolute(), problems, shown, workers)
    with closing(corpus(engine_of(name, workers, address or None))) as results:
        for result in track(results, console, "partitions", total=len(corpus.partitions)):
            for line in result.reports:
                console.print(f"{result.name}: {line}")
            if result.problem:
                console.print(f"{result.name}: {result.problem}; no links")
            done.update(new=bool(result.seconds), old=not result.seconds and not result.problem)
    _summarize(corpus, done, time.monotonic() - started, console)


def _summarize(corpus: CorpusRun, done: Counter[str], seconds: float, console: Console) -> None:
    counts, aside = corpus.counts(), corpus.set_aside()
    links = f"{counts['documents']:,} documents, {counts['mentions']:,} mentions, {counts['linked']:,} of them linked"
    console.print(f"{links}; {counts['failures']:,} documents failed; {counts['broken']:,} broken records left out")
    removed = f"; {corpus.removed:,} of files that are gone were removed" if corpus.removed else ""
    partitions = f"{done['new']:,} partitions linked, {done['old']:,} were done before{removed}"
    console.print(f"{partitions}; {seconds:,.0f} seconds")
    if counts["broken"] and not counts["documents"]:
        raise SapbertError(Errors.E508.format(n=counts["broken"]))
    if aside:
        names = ", ".join(result.name for result in aside[:_SHOWN]) + (", …" if len(aside) > _SHOWN else "")
        raise SapbertError(Errors.E569.format(n=len(aside), total=len(corpus.partitions), names=names))
