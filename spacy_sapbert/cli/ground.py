"""Define `spacy-sapbert ground`, which shows the concepts that strings may mean."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from ..files.console import show
from ..kb.storage import load_knowledge_base

_SHOWN = 3  # candidates of a text in the table; the JSON has all


def ground(
    texts: Annotated[list[str], typer.Argument(metavar="TEXT...", help="Strings, such as mentions or search terms.")],
    context: Annotated[
        str, typer.Option(help="Text around them. It defines abbreviations, or shows what a short form stands for.")
    ] = "",
    type: Annotated[list[str] | None, typer.Option(help="Only concepts of this type. Repeatable.")] = None,
    kb: Annotated[str, typer.Option(help="A knowledge base file, a saved pipeline, or 'starter'.")] = "starter",
    lang: Annotated[str, typer.Option(help="Language of the strings, such as de.")] = "en",
) -> None:
    """Show the concepts that strings may mean, with scores and reasons.

    A pipeline would link a string to the first concept, unless the reason says that it is not linked.
    """
    from ..linking.grounding import ground_record

    opened = load_knowledge_base(kb)
    table, results = Table("text", "id", "preferred name", "matched name", "score", "prob.", "reason", box=None), []
    for text in texts:
        results.append(ground_record(text, context, type, opened, lang))
        candidates = results[-1]["candidates"]
        for place, row in enumerate(candidates[:_SHOWN]):
            table.add_row("" if place else escape(text), *map(escape, _cells(row)))
        if not candidates:
            table.add_row(escape(text), *[""] * 5, "no name is similar")
    show(table, {"kb": str(opened.path), "context": context, "results": results})


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    probability = "" if row["probability"] is None else f"{row['probability']:.2f}"
    reason = f"not linked: {row['refusal']}" if row["refusal"] else row["rewrite"] or ""
    return row["concept_id"], row["preferred_name"], row["name"], f"{row['score']:.3f}", probability, reason
