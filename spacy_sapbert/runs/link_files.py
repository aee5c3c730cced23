"""Link files to one output: a stream, a file from parts that an interrupted run keeps, or a folder with an engine."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from warnings import warn

from ..documents.formats import OUTPUT_FORMATS, format_named, output_format
from ..documents.input_documents import Inputs, Problems, ReadOptions, begun, read_all
from ..errors import ChoiceError, Errors, MissingExtraError, NotFoundError, OptionError, SapbertError, Warnings
from ..files.console import progress_callback, stderr_console, track
from ..files.opening import STDIN
from ..files.output import is_special, refuse_input
from ..files.postgres import is_postgres
from ..kb.code_systems import CodeOptions
from ..outputs.health_records import note_id_of
from ..outputs.records import Record
from ..outputs.writers import check_output, write_records
from ..pipeline.factories import ASSERTION
from ..review.corrections_file import open_corrections
from ..types import Document
from .document_linker import LIMITS, LinkSettings, linker_of
from .engines import ENGINES
from .file_run import ChunkResult, ChunkWork, open_parts, part_name
from .parts import Parts

_DEFAULT = ReadOptions()
_PATIENT_RECORDS = frozenset({"omop", "fhir", "phenopacket"})


def link_files(
    pipeline: str | Path,
    inputs: Iterable[str | Path],
    output: str | Path | None = None,
    *,
    reading: ReadOptions = _DEFAULT,
    format: str | None = None,
    concepts: str | None = None,
    corrections: str | None = None,
    also: Sequence[str] = (),
    mappings: Sequence[Path] = (),
    resume: bool | None = None,
    engine: str | None = None,
    workers: int = 1,
    strict: bool = False,
    counts: Counter[str] | None = None,
    **settings: Any,
) -> Counter[str]:
    """Link the documents of files, as `spacy-sapbert link` does. It shows the progress on standard error.

    Args:
        pipeline: Folder or package of a pipeline with a `sapbert_linker`.
        inputs: Files and folders; `-` is standard input.
        output: The file, the folder for an engine, or the address of a database. None for standard output.
        reading: How to read the inputs.
        format: The format of the output. Default: as the name of the output shows.
        concepts: The table CONCEPT of OMOP or the address of a database, for the format omop.
        corrections: The file or address of corrections, which replace those of the pipeline.
        also: Add the codes of links in these vocabularies, see `CodeSystems`.
        mappings: Files that give further codes.
        resume: Go on with an interrupted run, if there is one. False throws it away. None allows none.
        engine: "local", "ray" or "spark" link each file of the input to a Parquet file, see `CorpusRun`.
        workers: The number of processes.
        strict: Raise an error at the first broken record.
        counts: Gets the counts, also if the run fails; then with "kept", the documents that `resume` finds.
        settings: Other values of `LinkSettings`.

    Returns:
        The number of documents, of mentions, of linked ones and of broken records.

    Raises:
        SapbertError: An option does not fit, something cannot be read or written, or no record could be linked.
    """
    counts = Counter() if counts is None else counts
    paths = _checked(inputs)
    problems = Problems(stderr_console(), strict=strict)
    place = output if output is None or is_postgres(output) else Path(output)
    to = format and format_named(format, OUTPUT_FORMATS, "format of links")
    if isinstance(place, str):
        concepts, to = concepts or place, to or "omop"
    folder = _checked_folder(engine, place, to, concepts, paths, resume) if engine else None
    found = Path(pipeline).resolve() if Path(pipeline).exists() else pipeline
    given = reading.gold or reading.format == "names"
    codes = CodeOptions.of(also, mappings, problems.console) if also else None
    corrections = open_corrections(corrections).address if corrections else None
    settings = LIMITS | settings if folder else settings
    linking = LinkSettings(str(found), given=given, codes=codes, corrections=corrections, **settings)
    sources = [(path, reading) for path in paths]
    if engine and folder:
        from .corpus_run import link_corpus  # needs pyarrow

        link_corpus(linking, sources, folder, engine, problems, workers, counts)
        return counts
    path = place if isinstance(place, Path) else None
    refuse_input(path, [*paths, Path(pipeline), corrections, concepts, *mappings], in_folders=True)
    to = to or output_format(path)
    check_output(place, to, concepts)
    _Run(ChunkWork(linking), sources, problems, workers, to, place, concepts, counts).start(resume)
    counts["broken"] = problems.broken
    problems.show_passages()
    done = f"{counts['documents']:,} documents, {counts['mentions']:,} mentions, {counts['linked']:,} of them linked"
    problems.console.print(f"{done}; {problems.broken:,} broken records left out")
    return counts


def _checked(inputs: Iterable[str | Path]) -> list[Path]:
    """Return the paths of the inputs, after a check that typer does for the command."""
    if isinstance(inputs, (str, Path)):
        raise OptionError(option="inputs", reason=f"it is {str(inputs)!r}, not a list of paths")
    paths = [*map(Path, inputs)]
    if missing := next((path for path in paths if path != STDIN and not path.exists()), None):
        raise NotFoundError(what=f"file or folder {missing}", remedy="Check the path.")
    return paths


def _checked_folder(
    engine: str,
    output: Path | str | None,
    format: str | None,
    concepts: str | None,
    inputs: Sequence[Path],
    resume: bool | None,
) -> Path:
    """Return the folder of the output, after a check that the options fit to an engine."""
    if engine.partition("=")[0] not in ENGINES:
        raise ChoiceError(given=engine, what="engine", choices=ENGINES)
    if not isinstance(output, Path) or output.is_file():
        raise OptionError(option="--engine", reason="--output must be a folder, which may be new")
    if concepts:
        raise OptionError(option="--concepts", reason="--engine writes tables of links only")
    if format not in (None, "parquet"):
        raise OptionError(option="--engine", reason="--to must be parquet")
    if STDIN in inputs:
        raise OptionError(option="--engine", reason="a rerun could not read standard input again")
    if resume is not None:
        raise OptionError(option="--engine", reason="a rerun always goes on, so --resume and --restart have no effect")
    refuse_input(output, inputs, in_folders=True)
    if not find_spec("pyarrow"):
        raise MissingExtraError(what="An engine", package="pyarrow", extra="parquet")
    return output


@dataclass
class _Run:
    """A run with one output."""

    work: ChunkWork
    inputs: Inputs
    problems: Problems
    workers: int
    format: str
    output: Path | str | None
    concepts: str | None
    counts: Counter[str]

    def start(self, resume: bool | None) -> None:
        """Link to a file in parts, so that it can be resumed; to anything else as a stream."""
        if isinstance(self.output, Path) and not is_special(self.output):
            with open_parts(self.output, resume=resume) as parts:
                try:
                    self.link(parts)
                except (KeyboardInterrupt, SapbertError):
                    self.counts["kept"] = self.counts["documents"]
                    raise
        elif resume is not None:
            reason = "only a run with a file as --output keeps its documents"
            raise OptionError(option="--resume or --restart", reason=reason)
        else:
            self.link()

    def link(self, parts: Parts | None = None) -> None:
        """Link the documents, and write them; without parts, as soon as they are linked."""
        documents = read_all(self.inputs, self.problems)
        # what cannot be read is reported before the pipeline is loaded
        documents = begun(_with_note_ids(documents, self.problems) if self.concepts else documents)
        linking = linker_of(self.work.settings)
        factories = {linking.nlp.get_pipe_meta(name).factory for name in linking.nlp.pipe_names}
        if self.format in _PATIENT_RECORDS and ASSERTION not in factories:
            warn(Warnings.W513.format(format=self.format, component=ASSERTION), stacklevel=4)
        work = self.work
        if parts:
            work = work.keeping(parts, linking.identity())
        with closing(work.stream(documents, self.problems, self.workers)) as stream:
            results = self._counted(stream)
            records = self._finished(results, parts) if parts else self._records(results)
            write_records(records, self.format, self.output, concepts=self.concepts)

    def _counted(self, results: Iterable[ChunkResult]) -> Iterator[ChunkResult]:
        for result in results:
            self.counts += result.counts
            self.counts["old"] += result.is_old * result.counts["documents"]
            yield result
        if self.problems.broken and not self.counts["documents"]:
            raise SapbertError(Errors.E508.format(n=self.problems.broken))

    def _records(self, results: Iterable[ChunkResult]) -> Iterator[Record]:
        records = (record for result in results for record in result.records)
        shown = self.output is not None or not sys.stdout.isatty()
        return track(records, self.problems.console, shown=shown)

    def _finished(self, results: Iterable[ChunkResult], parts: Parts) -> Iterator[Record]:
        """Link all documents, and return their records."""
        console, names = self.problems.console, []
        with progress_callback(console, "documents", self.problems.share) as update:
            for result in results:
                names.append(part_name(result.number))
                update(self.counts["documents"], 0)
        if self.counts["old"]:
            console.print(f"{self.counts['old']:,} documents were already finished")
        return parts.records(names)


def _with_note_ids(documents: Iterator[Document], problems: Problems) -> Iterator[Document]:
    """Leave out and report the documents that no row of OMOP can refer to."""
    for document in documents:
        if note_id_of(document.doc_id) is None:
            problems.report(document.position, f"the id {document.doc_id!r} is no whole number, as a note_id must be")
        else:
            yield document
