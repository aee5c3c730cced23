"""`spacy-sapbert kb`: build a vocabulary, look into it, search, compare, check, export it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import Errors, SapbertError
from ..files import open_output, without_gz
from . import kb_tables
from .kb_build import build
from .kb_upload import upload
from .progress import show, stderr_console, track

if TYPE_CHECKING:
    from ..kb.knowledge_base import KnowledgeBase

kb = typer.Typer(
    help="Build a vocabulary, look into it, search, compare, check, export, upload it.", no_args_is_help=True
)
kb.command("build")(build)
kb.command("upload")(upload)

Store = Annotated[str, typer.Argument(help="A knowledge base, or 'starter'.")]


@kb.command("info")
def info(knowledge_base: Store) -> None:
    """Print what a knowledge_base holds and how it was made, as JSON."""
    from ..kb.info import describe

    result = describe(_open(knowledge_base))
    show(kb_tables.info_table(result), result)


@kb.command("search")
def search(
    knowledge_base: Store,
    text: Annotated[str, typer.Argument(help="A name, or something like it, or an id.")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many concepts.")] = 10,
    encoder: Annotated[str, typer.Option(help="'starter', a folder, a hub name, or 'none'.")] = "none",
) -> None:
    """Show the concepts whose names are most like a text; first the one whose id it is, if it is one."""
    from ..encoders.transformer import open_encoder
    from ..kb.ids import canonical_id
    from ..linking.storage import open_generator

    opened = _open(knowledge_base)
    generator = open_generator(opened, open_encoder(encoder), sparse=True)
    found = {concept_id: ("id", canonical_id(text)) for concept_id in opened.find_id(canonical_id(text))}
    for candidate in generator([text], k)[0]:
        found.setdefault(candidate.concept_id, (f"{candidate.score:.3f}", candidate.name))
    kb_tables.print_concepts(
        (score, opened.cui_to_entity[concept_id], matched) for concept_id, (score, matched) in [*found.items()][:k]
    )


@kb.command("diff")
def diff(
    old: Annotated[str, typer.Argument(help="A knowledge base, or 'starter'.")],
    new: Annotated[str, typer.Argument(help="A later version of it.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write a JSON line for each change.")] = None,
) -> None:
    """Count what changed from one version of a vocabulary to another."""
    from ..kb.diff import compare

    console = stderr_console()
    with console.status("comparing"), compare(_open(old), _open(new)) as changes:
        result = changes.summary()
        if output:
            with open_output(output) as write:
                for change in changes.changes():
                    write(json.dumps(change, ensure_ascii=False) + "\n")
    show(kb_tables.diff_table(result), result)


@kb.command("export")
def export(
    knowledge_base: Store,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write; gzipped if it ends in .gz.")],
    format: Annotated[str, typer.Option(help="scispacy, table (tab-separated) or biosyn.")],
) -> None:
    """Write a knowledge_base as a file for other programs, and count what the format cannot hold."""
    from ..kb.export import ExportReport, export_lines

    if format == "table" and without_gz(output).suffix.lower() == ".csv":
        raise SapbertError(Errors.E540.format(path=output))
    report = ExportReport()
    lines = export_lines(_open(knowledge_base), format, report)
    with open_output(output) as write:
        for line in track(lines, stderr_console(), "lines"):
            write(line)
    left_out = {kind: count for kind, count in report.left_out.items() if count}
    result = {"file": str(output), "concepts": report.concepts, "names": report.names, "left_out": left_out}
    show(kb_tables.export_table(result), result)


@kb.command("check")
def check(knowledge_base: Store) -> None:
    """Look for damage and for odd content; the exit status is 1 if the knowledge_base should be built again."""
    from ..kb.check import check_knowledge_base

    opened = _open(knowledge_base)
    console = stderr_console()
    with console.status("checking"):
        result = check_knowledge_base(opened)
    show(kb_tables.check_table(result), result)
    if result["problems"]:
        raise typer.Exit(1)


def _open(knowledge_base: str) -> KnowledgeBase:
    from ..kb.storage import load_knowledge_base

    return load_knowledge_base(knowledge_base)
