"""Define `spacy-sapbert link`, which links the mentions of documents."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from typing import Annotated

import typer

from ..documents.formats import OutputFormat
from ..errors import SapbertError
from ..files.console import stderr_console
from . import command_line, exit_status
from .inputs import (
    Also,
    CodeMapping,
    Columns,
    DisplayLanguage,
    Encoding,
    Format,
    Gold,
    Inputs,
    NProcess,
    Pipeline,
    Strict,
    reading_options,
)

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
_MOST_CANDIDATES = 20
_NEW_OBJECTS = 50_000  # after so many, Python looks for garbage; a link makes hundreds, and none is in a cycle


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
    reading = reading_options(inputs, format, column, encoding, gold=gold)
    from ..runs.link_files import link_files

    counts: Counter[str] = Counter()
    gc.set_threshold(_NEW_OBJECTS, *gc.get_threshold()[1:])
    try:
        link_files(
            pipeline,
            inputs,
            output,
            reading=reading,
            format=to,
            concepts=concepts,
            corrections=corrections,
            also=also or (),
            mappings=mapping or (),
            resume=resume,
            engine=engine,
            workers=n_process,
            strict=strict,
            counts=counts,
            language=display_language,
            candidates=candidates,
        )
    except KeyboardInterrupt as error:
        if "kept" not in counts:
            raise
        stderr_console().print(_how_to_go_on("Interrupted", counts["kept"]))
        raise typer.Exit(exit_status(error)) from None
    except SapbertError as error:
        if not counts["kept"]:
            raise
        raise SapbertError(f"{error}\n{_how_to_go_on('Stopped', counts['kept'])}") from error


def _how_to_go_on(reason: str, finished: int) -> str:
    if not finished:
        return f"{reason}. No document was finished, so nothing is kept."
    given = [argument for argument in sys.argv[1:] if argument not in ("--resume", "--restart")]
    command = command_line([*given, "--resume"])
    return f"{reason}. {finished:,} finished documents are kept. To go on: {command}"
