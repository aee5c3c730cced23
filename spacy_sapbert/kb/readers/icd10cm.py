"""Read ICD-10-CM: the XML file of its tabular list, which CDC and CMS publish each year.

Chapters, sections and codes (`diag`) nest in each other. Each is a concept, and its parent is what contains it. The
file lists no codes with a seventh character, but says how to make them (`sevenChrDef`). They are not concepts here,
since they add the encounter and not another disease.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from ...files.xml import ElementParser, LocatedElement
from ...types import Record
from .context import ReaderContext

ROOT = "ICD10CM.tabular"
# The codes that a chapter or section covers, at the end of its description: (A00-B99), (A00), (C43-C4A)
_RANGE = re.compile(r"\((?P<codes>[A-Z][0-9][0-9A-Z](?:-[A-Z][0-9][0-9A-Z])?)\)\s*\Z")
# Codes for the rest of a category list narrower conditions, and not synonyms.
_RESIDUAL = ("other ", "unspecified ")


def read_icd10cm(context: ReaderContext) -> Iterator[Record]:
    """Read the chapters, sections and codes. Inclusion terms are synonyms; excludes notes are not.

    The id of a chapter or section is its range of codes: `ICD10CM:A00-B99`. These two have the types "chapter" and
    "section". An inclusion term of a code for other or unspecified conditions has the scope "narrow".
    """
    context = replace(context, id_prefix=context.id_prefix or "ICD10CM")
    for _, chapter in ElementParser(context.path, "icd10cm", [ROOT, "chapter"]).elements(context.chunks()):
        yield from _records(context, chapter)


def _records(context: ReaderContext, chapter: LocatedElement) -> Iterator[Record]:
    """Yield the record of a chapter, then those of what it contains."""
    todo: list[tuple[LocatedElement, str | None]] = [(chapter, None)]
    while todo:
        element, parent = todo.pop()
        context.report.rows_read += 1
        record = list(_record(context, element, parent))
        yield from record
        # what a broken element contains belongs to its parent
        below = record[0].concept_id if record else parent
        inner = [cast(LocatedElement, child) for child in element if child.tag in ("section", "diag")]
        todo += [(child, below) for child in reversed(inner)]


def _record(context: ReaderContext, element: LocatedElement, parent: str | None) -> Iterator[Record]:
    title = " ".join(element.findtext("desc", "").split())
    code = " ".join(element.findtext("name", "").split())
    names = [(title, "preferred")]
    is_code = element.tag == "diag"
    if not is_code:
        covered = _RANGE.search(title)
        code = element.get("id") or (covered["codes"] if covered else f"chapter {code}" if code else "")
        # one code becomes a range, as its category has the same code
        code = f"{code}-{code}" if code.isalnum() else code
        names = [(title[: covered.start()] if covered else title, "preferred")]
    scope = "narrow" if title.lower().startswith(_RESIDUAL) else "exact"
    names += [(note.text or "", scope) for note in element.iterfind("inclusionTerm/note")]
    if not title:
        context.drop_broken(element.line, f"<{element.tag}> {code} has no description")
        return
    yield from context.record(
        element.line,
        f"{context.id_prefix}:{code}" if code else "",
        names,
        types=() if is_code else (element.tag,),
        parents=[parent] if parent else (),
    )
