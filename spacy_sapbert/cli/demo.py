"""Define `spacy-sapbert demo`, which links an abstract with the pipeline in the package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..files.output import open_output

if TYPE_CHECKING:
    from spacy.tokens import Doc

    from ..kb.knowledge_base import KnowledgeBase

TEXT = (
    "Atrial fibrillation (AF) is common in patients with chronic obstructive pulmonary disease (COPD). We followed "
    "212 COPD patients who were given amiodarone or metoprolol for AF. Heart attacks and strokes were fewer with "
    "metoprolol, but headache, nausea and vomiting were reported more often. Three women with a history of breast and "
    "ovarian cancer had been treated with doxorubicin; two of them developed heart failure. Those with diabetes took "
    "metformin throughout, and acetylsalicylic acid was stopped where renal failure had been found."
)


def demo(
    text: Annotated[str, typer.Option(help="Text to link. Default: an example abstract.", show_default=False)] = TEXT,
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML page to write.")] = Path("demo.html"),
) -> None:
    """Link an example text, and show the links as a table and as an HTML page.

    The demo needs no files and no network. It uses the pipeline in the package.
    """
    from ..outputs.html import render_page
    from ..pipeline.box import load

    nlp = load()
    doc = nlp(text)
    kb = nlp.get_pipe("sapbert_linker").kb  # type: ignore[attr-defined]
    console = Console(width=None if Console().is_terminal else 120)
    console.print(doc.text, markup=False, highlight=False)
    console.print(_table(doc, kb))
    with open_output(output) as write:
        write(render_page([doc], kb, "spacy-sapbert"))
    console.print(f"Open this page in a browser to see the same links: {output}", markup=False, highlight=False)


def _table(doc: Doc, kb: KnowledgeBase) -> Table:
    table = Table("mention", "linked text", "concept", "preferred name", "probability", box=None, padding=(0, 2, 0, 0))
    for mention in doc.ents:
        for part, link in enumerate(mention._.links):
            concept = kb.get(link.concept_id) if link.concept_id else None
            name = concept.canonical_name if concept else link.reason or ""
            looked_up = "" if link.text == mention.text else link.text
            cells = (mention.text if part == 0 else "", looked_up, link.concept_id or "NIL", name)
            table.add_row(*map(escape, cells), "" if link.probability is None else f"{link.probability:.2f}")
    return table
