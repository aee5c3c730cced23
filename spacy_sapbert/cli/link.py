"""Define `spacy-sapbert link`, `ground` and `demo`, which link the mentions of documents, strings and an example."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..errors import SapbertError
from ..files.console import results_to, stderr_console, track
from ..files.opening import without_gz
from ..files.output import open_output
from ..files.values import table_lines
from ..kb.storage import load_knowledge_base
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
    To,
    reading_options,
)

if TYPE_CHECKING:
    from spacy.tokens import Doc

    from ..kb.knowledge_base import KnowledgeBase

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
    to: To = None,
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


# --- ground

_SHOWN = 3  # candidates of a text in the table; the JSON has all
_GROUNDED = ("text", "concept_id", "preferred_name", "name", "score", "probability", "reason")
_GROUNDED_HELP = f"File: JSON, or a table of {_SHOWN} candidates each: .csv with commas, any other with tabs."
TEXT = (
    "Atrial fibrillation (AF) is common in patients with chronic obstructive pulmonary disease (COPD). We followed "
    "212 COPD patients who were given amiodarone or metoprolol for AF. Heart attacks and strokes were fewer with "
    "metoprolol, but headache, nausea and vomiting were reported more often. Three women with a history of breast and "
    "ovarian cancer had been treated with doxorubicin; two of them developed heart failure. Those with diabetes took "
    "metformin throughout, and acetylsalicylic acid was stopped where renal failure had been found."
)


def ground(
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT...", help="Strings, such as mentions or search terms.")
    ] = None,
    context: Annotated[
        str, typer.Option(help="Text around them. It defines abbreviations, or shows what a short form stands for.")
    ] = "",
    type: Annotated[list[str] | None, typer.Option(help="Only concepts of this type. Repeatable.")] = None,
    kb: Annotated[str, typer.Option(help="A knowledge base file, a saved pipeline, or 'starter'.")] = "starter",
    lang: Annotated[str, typer.Option(help="Language of the strings, such as de.")] = "en",
    file: Annotated[Path | None, typer.Option(help="List of strings, one per line, or table with a header.")] = None,
    column: Columns = None,
    encoding: Encoding = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help=_GROUNDED_HELP)] = None,
) -> None:
    """Show the concepts that strings may mean, with scores and reasons.

    A pipeline would link a string to the first concept, unless the reason says that it is not linked.
    """
    from ..documents.input_documents import Problems, read_documents
    from ..linking.grounding import ground_record

    given, console = [*(texts or ())], stderr_console()
    if file:
        reading = reading_options([file], "names", column, encoding)
        given += [document.text for document in read_documents(file, reading, Problems(console))]
    if not (given or file):
        raise typer.BadParameter("give strings, or a file of them with --file", param_hint="TEXT")
    opened = load_knowledge_base(kb)
    found = (ground_record(text, context, type, opened, lang) for text in given)
    results = [*track(found, console, "strings", total=len(given))]
    rows = [
        {"text": result["text"], **row}
        for result in results
        for row in [*map(_shown, result["candidates"][:_SHOWN])] or [{"reason": "no name is similar"}]
    ]
    shown, result = {"candidates": rows}, {"kb": str(opened.path), "context": context, "results": results}
    suffix = without_gz(output).suffix.lower() if output else ".json"
    if suffix == ".json":
        with results_to(output, [file]) as show:
            show(result, shown)
        return
    with open_output(output) as write:
        cells = (map(row.get, _GROUNDED) for row in rows)
        for line in table_lines(chain([_GROUNDED], cells), "," if suffix == ".csv" else "\t"):
            write(line)


def _shown(candidate: Mapping[str, Any]) -> dict[str, Any]:
    reason = f"not linked: {candidate['refusal']}" if candidate["refusal"] else candidate["rewrite"] or ""
    return {**{key: candidate[key] for key in _GROUNDED[1:-1]}, "reason": reason}


# --- demo


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML page to write.")] = Path("demo.html"),
) -> None:
    """Link an example text, and show the links as a table and as an HTML page.

    The demo needs no files and no network. It uses the pipeline in the package.
    """
    from ..outputs.html import render_page
    from ..pipeline.box import load

    nlp = load()
    doc = nlp(TEXT)
    kb = nlp.get_pipe("sapbert_linker").kb  # type: ignore[attr-defined]
    console = Console(width=None if Console().is_terminal else 120)
    console.print(doc.text, markup=False, highlight=False)
    console.print(_demo_table(doc, kb))
    with open_output(output) as write:
        write(render_page([doc], kb, "spacy-sapbert"))
    console.print(f"Open this page in a browser to see the same links: {output}", markup=False, highlight=False)


def _demo_table(doc: Doc, kb: KnowledgeBase) -> Table:
    table = Table("mention", "linked text", "concept", "preferred name", "probability", box=None, padding=(0, 2, 0, 0))
    for mention in doc.ents:
        for part, link in enumerate(mention._.links):
            concept = kb.get(link.concept_id) if link.concept_id else None
            name = concept.canonical_name if concept else link.reason or ""
            looked_up = "" if link.text == mention.text else link.text
            cells = (mention.text if part == 0 else "", looked_up, link.concept_id or "NIL", name)
            table.add_row(*map(escape, cells), "" if link.probability is None else f"{link.probability:.2f}")
    return table
