"""Define `spacy-sapbert kb check`, which finds damage, unusual content and suspicious names in a knowledge base."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..documents.input_documents import Problems, read_all
from ..documents.source import ReadOptions
from ..files.console import show, stderr_console, track
from . import kb_tables
from .inputs import open_inputs

if TYPE_CHECKING:
    from ..evaluation.components import NameCounts
    from ..kb.check import SuspiciousName
    from ..kb.knowledge_base import KnowledgeBase

SHOWN = 20


def check(
    knowledge_base: Annotated[str, typer.Argument(help="A knowledge base file, or 'starter'.")],
    texts: Annotated[
        list[Path] | None,
        typer.Option(help="Count the names in these texts: files or folders that `link` can read. Repeatable."),
    ] = None,
    also_in: Annotated[
        list[str] | None,
        typer.Option(help="Report short forms that are also names in this knowledge base (genes, …). Repeatable."),
    ] = None,
    number: Annotated[int, typer.Option("--number", "-n", min=1, help="Number of names to show.")] = SHOWN,
) -> None:
    """Check a knowledge base for damage, unusual content, and names that may mean something else in text.

    The most suspicious names come first. With --texts, those that occur most often come first, so that they show where
    a list of stop names helps most. The exit status is 1 if you must build the knowledge base again.
    """
    from ..kb.check import check_knowledge_base, suspicious_names
    from ..kb.storage import load_knowledge_base

    console = stderr_console()
    sources = open_inputs(texts or [])
    opened, others = load_knowledge_base(knowledge_base), [load_knowledge_base(other) for other in also_in or []]
    with console.status("checking"):
        result = check_knowledge_base(opened)
    if not result["problems"]:
        counts = _count(opened, sources) if sources else None
        result |= _report(suspicious_names(opened, others), counts, number)
    show(kb_tables.check_table(result), result)
    for title in kb_tables.NAME_LISTS:
        if result.get(title):
            kb_tables.print_names(result, title, console)
    if result["problems"]:
        raise typer.Exit(1)


def _count(kb: KnowledgeBase, sources: list[tuple[Path, ReadOptions]]) -> NameCounts:
    from ..evaluation.components import NameCounts
    from ..linking.name_matcher import NameMatcher

    console = stderr_console()
    problems = Problems(console)
    documents = read_all(sources, problems)
    texts = (document.text for document in track(documents, console, share=problems.share))
    counts = NameCounts(kb, NameMatcher.cached(kb), texts)
    problems.show_passages()
    return counts


def _report(found: Iterable[SuspiciousName], counts: NameCounts | None, number: int) -> dict[str, Any]:
    """Return the first suspicious names, and the names that occur most often.

    Args:
        found: The suspicious names.
        counts: How often each name occurs. Then names that do not occur are left out.
        number: The length of each list.
    """
    by_severity: Counter[str] = Counter()
    if counts is None:
        names = heapq.nsmallest(number, _tallied(found, by_severity))
        return {"suspicious": dict(by_severity), "suspicious_names": [name.as_json() for name in names]}
    occurring = (name for name in _tallied(found, by_severity) if counts.occurrences[name.row])
    names = heapq.nsmallest(number, occurring, key=lambda name: (-counts.occurrences[name.row], name))
    return {
        "suspicious": dict(by_severity),
        "documents": counts.n_documents,
        "suspicious_names": [{**name.as_json(), **counts.counts_of(name.row)} for name in names],
        "most_frequent_names": counts.most_frequent(number),
    }


def _tallied(found: Iterable[SuspiciousName], tally: Counter[str]) -> Iterator[SuspiciousName]:
    for name in found:
        tally[name.kind] += 1
        yield name
