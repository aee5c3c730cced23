"""Build the tables of the `spacy-sapbert kb` commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from textwrap import shorten
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..files.console import show, stderr_console, table_of_numbers
from ..types import Concept

STDOUT = Path("-")
_PIPE_WIDTH = 240
_DEFINITION_WIDTH = 80
_EXAMPLE_WIDTH = 60
_SHOWN_GROUPS = 12


def show_counts(table: Table, result: Mapping[str, Any], output: Path) -> None:
    """Show the counts of an output. Standard output gets them only if it is not the output."""
    if output == STDOUT:
        stderr_console().print(table)
    else:
        show(table, result)


def print_wide(table: Table, console: Console) -> None:
    """Print a table. Without a terminal, its rows are not wrapped."""
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    console.print(table)


def print_concepts(rows: Iterable[tuple[str, Concept, str]]) -> None:
    """Print the concepts that were found, each with its score and the name or id that matched."""
    table = Table("score", "id", "preferred name", "matched name", "types", "definition", box=None)
    for score, concept, matched in rows:
        definition = shorten(concept.definition or "", _DEFINITION_WIDTH, placeholder=" …")
        cells = (concept.concept_id, concept.canonical_name, matched, ", ".join(concept.types), definition)
        table.add_row(score, *map(escape, cells))
    print_wide(table, Console())


def counts_table(*groups: tuple[str, Mapping[str, int]]) -> Table:
    """Return a table of counts, in groups with what their labels begin with."""
    rows = [(prefix + label, count) for prefix, counts in groups for label, count in counts.items()]
    table = table_of_numbers("", "count", rows=rows)
    table.box = None
    return table


def info_table(result: Mapping[str, Any]) -> Table:
    """Return the table of a `describe` result."""
    labels = ("concepts", "names", "names_of_several_concepts", "alternative_ids")
    with_something = [key for key in result if key.startswith("concepts_with_")]
    languages = {language or "unknown language": count for language, count in result["names_by_language"].items()}
    table = counts_table(
        ("", _spelled({key: result[key] for key in (*labels, *with_something)})),
        ("stop names: ", result["stop_names_by_reason"]),
        ("concepts of type ", _largest(result["types"])),
        ("names from ", _largest(result["names_by_source"])),
        ("names in ", _largest(languages)),
    )
    for option, values in result.get("curation", {}).items():
        shown = values if isinstance(values, str) else ", ".join(values)
        table.add_row(f"curation: {option.replace('_', ' ')} {shown}", "")
    return table


def origin_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a `describe` result says on the origin of the vocabulary, one fact a line."""
    catalog = result.get("catalog", {})
    facts = {"vocabulary": catalog.get("title"), "release": result.get("release"), "license": result.get("licence")}
    facts |= {"downloaded from": catalog.get("address"), "downloaded": catalog.get("downloaded")}
    facts |= {"file of": catalog.get("last_modified"), "home page": catalog.get("home")}
    for label, fact in facts.items():
        if fact:
            yield f"{label}: {fact}"


def diff_table(result: Mapping[str, Any]) -> Table:
    """Return the table of a `KnowledgeBaseDiff.summary`."""
    table = counts_table(*((f"{group}: ", _spelled(result[group])) for group in ("concepts", "names", "changed")))
    if result["same_content"]:
        table.caption = "both knowledge bases have the same content"
    return table


def map_table(result: Mapping[str, Any]) -> Table:
    """Return the table of `kb map`: the concepts with a code of each system, and their codes."""
    rows = [(system, counts["concepts"], counts["rows"]) for system, counts in result["systems"].items()]
    table = table_of_numbers("system", "concepts", "rows", rows=rows)
    table.box = None
    table.caption = f"of {result['concepts']:,} concepts"
    return table


def check_table(result: Mapping[str, Any]) -> Table:
    """Return the table of a `check_knowledge_base` result."""
    table = table_of_numbers("", "count")
    table.box = None
    table.add_column("example")
    for kind in ("problems", "remarks"):
        for check, finding in result[kind].items():
            cells = f"{kind[:-1]}: {check.replace('_', ' ')}", f"{finding['count']:,}"
            table.add_row(*cells, _example(finding["examples"][0]))
    for kind, count in result.get("suspicious", {}).items():
        table.add_row(f"suspicious: {kind}", f"{count:,}")
    table.caption = "Build the knowledge base again." if result["problems"] else "no problems"
    return table


def print_names(names: Iterable[Mapping[str, Any]], console: Console) -> None:
    """Print names that may mean something else in text."""
    title = "names that may mean something else in text"
    table = Table("name", "ids", "why", title=title, title_justify="left", box=None)
    for column in table.columns:
        column.no_wrap = True
    for name in names:
        ids = shorten(", ".join(name["ids"]), _EXAMPLE_WIDTH, placeholder=" …")
        table.add_row(name["name"], ids, name["why"])
    print_wide(table, console)


def stop_name_lines(names: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a list of stop names: general names, and as comments those that a person must decide on."""
    yield "# Delete what must be found in text, and the # before what must not. Then: kb build --stop-names FILE\n"
    for name in names:
        yield f"\n# {name['why']}: {', '.join(name['ids'])}\n"
        yield f"{'' if name['general'] else '# '}{' '.join(name['name'].lower().split())}\n"


def _example(example: Any) -> str:
    """Shorten the example of a check: a text, a list of ids, or values by their names."""
    if isinstance(example, dict):
        example = [", ".join(value) if isinstance(value, list) else str(value) for value in example.values()]
    text = example if isinstance(example, str) else " | ".join(example)
    return shorten(text, _EXAMPLE_WIDTH, placeholder=" …")


def _spelled(counts: Mapping[str, int]) -> dict[str, int]:
    return {key.replace("_", " "): count for key, count in counts.items()}


def _largest(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the largest counts, and the sum of the others, since there can be hundreds of types."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rest = sum(count for _, count in ordered[_SHOWN_GROUPS:])
    return {**dict(ordered[:_SHOWN_GROUPS]), **({"others": rest} if rest else {})}
