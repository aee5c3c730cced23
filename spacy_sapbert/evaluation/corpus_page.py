"""Write the statistics of a corpus to a folder: tables, pictures, and one page that shows them."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import Errors, SapbertError
from ..files.output import replace_folder, temporary_folder
from ..outputs.addresses import concept_url
from ..outputs.html import LOOK
from ..outputs.labels import display_type
from ..outputs.tables import tsv_line
from .corpus_statistics import CorpusStatistics

if TYPE_CHECKING:
    import pyarrow

PAGE = "index.html"
SUMMARY = "summary.json"
ROWS = 15
"""The number of rows of a table on the page."""
NO_PICTURES = "matplotlib is not installed, so there are no pictures."
_ROWS_PER_STEP = 50_000


class _Part(NamedTuple):
    """A part of the page.

    Attributes:
        title: Its heading.
        text: What its table shows.
        columns: The heading of each shown column.
        picture: The name of its picture, if there is one.
    """

    title: str
    text: str
    columns: Mapping[str, str]
    picture: str = ""


_COUNTED = {
    "concept_id": "Concept",
    "documents": "Documents",
    "share": "Share",
    "mentions": "Mentions",
    "first_year": "First year",
    "last_year": "Last year",
}
_PAIR = {
    "concept_a": "Concept",
    "concept_b": "Other concept",
    "both_documents": "Documents with both",
    "expected": "Expected",
    "lift": "Lift",
    "log_likelihood": "Log-likelihood ratio",
}
_PARTS = {
    "concepts": _Part("Concepts", "The concepts in most documents.", _COUNTED, "concepts"),
    "rollup": _Part(
        "Concepts with their descendants",
        "Documents that mention the concept or any concept below it. Each document counts once.",
        {"concept_id": "Concept", "documents": "Documents", "documents_itself": "Itself", **_COUNTED},
    ),
    "pairs": _Part(
        "Concepts that occur together",
        "Lift is how many times more documents have both than would by chance. The log-likelihood ratio says how sure "
        "that is: 10.8 stands for p = 0.001 of one pair.",
        _PAIR,
        "pairs",
    ),
    "rollup_pairs": _Part(
        "Concepts that occur together, with their descendants",
        "Pairs in which one linked concept counts for both are only in the files.",
        _PAIR,
    ),
    "years": _Part(
        "Documents by year",
        "All documents with a year, and those with a link.",
        {"year": "Year", "documents": "Documents", "documents_with_links": "Documents with links"},
        "trends",
    ),
    "rising": _Part(
        "Rising concepts",
        "The share of documents in the last years against the years before. A log ratio of 1 means twice the share.",
        {
            "concept_id": "Concept",
            "documents_before": "Documents before",
            "documents_recent": "Documents in the last years",
            "share_before": "Share before",
            "share_recent": "Share in the last years",
            "log_ratio": "Log ratio",
        },
    ),
    "new_names": _Part(
        "New names",
        "Linked texts that are not yet names of their concept, for your review.",
        {
            "name": "Linked text",
            "id": "Concept",
            "matched_name": "Most similar name",
            "similarity": "Similarity",
            "documents": "Documents",
            "example": "Example",
        },
    ),
}
_PICTURES = {
    "concepts": "Bars: the share of documents with each of the most frequent concepts",
    "pairs": "Matrix: how much more often than by chance two frequent concepts occur together",
    "trends": "Curves: the share of documents by year for the most frequent concepts",
}
_CONCEPTS = {"concept_id": "preferred_name", "concept_a": "name_a", "concept_b": "name_b", "id": "preferred_name"}
_SHARES = ("share", "share_before", "share_recent")

_STYLE = """
body { max-width: 80rem; padding: 1.5rem 1.25rem 3rem; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; margin: 0 0 1rem; }
h2 { font-size: 1.15rem; margin: 0 0 0.25rem; }
section { border-top: 1px solid var(--line); padding: 1.25rem 0 1.5rem; }
figure { margin: 0; }
section > p { margin: 0 0 0.75rem; max-width: 46rem; color: var(--soft); }
small { display: block; color: var(--soft); font-size: 0.85em; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: 0.75rem; margin: 0 0 1rem; }
dl div { padding: 0.5rem 0.75rem; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
dt { color: var(--soft); font-size: 0.85rem; }
dd { margin: 0; font-size: 1.2rem; font-variant-numeric: tabular-nums; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; margin: 0 0 1rem; padding: 0; list-style: none; }
.notes { margin: 0 0 1rem; padding-left: 1.25rem; }
.both { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 29rem); gap: 1.5rem; align-items: start; }
img { display: block; max-width: 100%; height: auto; background: #fff; border-radius: 8px; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem; line-height: 1.45; background: var(--card); }
caption { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.6rem; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; }
td:not(.number) { min-width: 9rem; overflow-wrap: break-word; }
.number { text-align: right; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
@media screen and (prefers-color-scheme: dark) { img { filter: invert(0.9) hue-rotate(180deg); } }
@media screen and (max-width: 60rem) {
  body { padding: 1.25rem 1rem 2rem; }
  .both { grid-template-columns: minmax(0, 1fr); }
  .both figure { order: -1; }
}
@media screen and (max-width: 48rem) {
  table, tbody { display: block; background: none; }
  thead, .empty { display: none; }
  tr {
    display: grid; grid-template-columns: 1fr 1fr; gap: 0.1rem 1rem; margin: 0 0 0.5rem; padding: 0.5rem 0.8rem;
    background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  }
  td { grid-column: 1 / -1; padding: 0; border: 0; }
  .number { display: flex; justify-content: space-between; gap: 0.5rem; grid-column: auto; }
  .number::before { content: attr(data-name); color: var(--soft); font-size: 0.85em; text-align: left; }
}
@media print { :root { color-scheme: light; } body { max-width: none; padding: 0; } tr { break-inside: avoid; } }
"""
_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Corpus statistics</title>
<style>
{style}</style>
</head>
<body>
<header>
<h1>Corpus statistics</h1>
</header>
<main>
"""
_TAIL = "</main>\n</body>\n</html>\n"


def write_corpus_statistics(statistics: CorpusStatistics, folder: Path | str, *, plots: bool | None = None) -> None:
    """Write each table as Parquet and TSV, the pictures as SVG and PNG, `summary.json`, and the page `index.html`.

    The folder appears when it is complete, and replaces an older one. The same statistics give the same bytes.

    Args:
        statistics: The statistics.
        folder: The folder.
        plots: Whether to draw. None draws if matplotlib is installed; otherwise the page says that it is not.

    Raises:
        SapbertError: E507 the folder cannot be written, or holds something else. E542 matplotlib is not installed, and
            `plots` is true.
    """
    folder = Path(folder).absolute()
    check_folder(folder)
    drawn, notes = _figures(statistics, plots)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(folder) as temporary:
            new = temporary / "new"
            new.mkdir()
            pictures = _save_figures(drawn, new)
            for name, table in statistics.tables.items():
                _write_table(table, new / name)
            if statistics.new_names is not None:
                _write(new / "new_names.tsv", "".join(statistics.new_names))
                _write_parquet(_new_names_table(statistics.new_names), new / "new_names.parquet")
            _write(new / SUMMARY, json.dumps(statistics.summary | {"notes": notes}, indent=2) + "\n")
            _write(new / PAGE, render_corpus_page(statistics._replace(notes=notes), pictures))
            replace_folder(new, folder)
    except OSError as error:
        raise SapbertError(Errors.E507.format(path=folder, reason=error.strerror or error)) from error


def check_folder(folder: Path) -> None:
    """Check that a folder is empty, or holds the statistics of a corpus, before it is replaced.

    Raises:
        SapbertError: E507 it holds something else, or is a file.
    """
    is_ours = (folder / PAGE).is_file() and (folder / SUMMARY).is_file()
    if folder.exists() and not is_ours and not (folder.is_dir() and not any(folder.iterdir())):
        raise SapbertError(Errors.E507.format(path=folder, reason="it already holds something else"))


def render_corpus_page(statistics: CorpusStatistics, pictures: Mapping[str, bytes] | None = None) -> str:
    """Return one self-contained page: totals, pictures, and the first rows of each table.

    Args:
        statistics: The statistics.
        pictures: SVG pictures by name: "concepts", "pairs", "trends".
    """
    pieces = [_HEAD.format(style=LOOK + _STYLE), _totals(statistics.summary)]
    if statistics.notes:
        items = "".join(f"<li>{escape(note)}</li>\n" for note in statistics.notes)
        pieces.append(f'<ul class="notes">\n{items}</ul>\n')
    tables = dict(statistics.tables)
    if statistics.new_names is not None:
        tables["new_names"] = _new_names_table(statistics.new_names)
    parts = {name: part for name, part in _PARTS.items() if name in tables}
    links = "".join(f'<li><a href="#{name}">{part.title}</a></li>\n' for name, part in parts.items())
    pieces.append(f'<nav aria-label="Tables">\n<ul>\n{links}</ul>\n</nav>\n')
    pieces += [_section(name, part, tables[name], (pictures or {}).get(part.picture)) for name, part in parts.items()]
    return "".join([*pieces, _TAIL])


def _totals(summary: Mapping[str, Any]) -> str:
    shown = {name: value for name, value in summary.items() if type(value) is int and (value or name == "documents")}
    words = {name: name.replace("_", " ").capitalize() for name in shown}
    items = "".join(f"<div><dt>{words[name]}</dt><dd>{value:,}</dd></div>\n" for name, value in shown.items())
    return f"<dl>\n{items}</dl>\n"


def _section(name: str, part: _Part, table: pyarrow.Table, picture: bytes | None) -> str:
    files = f'<a href="{name}.tsv">{name}.tsv</a>, <a href="{name}.parquet">{name}.parquet</a>'
    rows = _first_rows(table)
    n = f"The first {len(rows):,} of {table.num_rows:,} rows are shown. " if len(rows) < table.num_rows else ""
    head = f'<section id="{name}">\n<h2>{part.title}</h2>\n<p>{escape(part.text)} {n}All rows: {files}</p>\n'
    shown = _table(part, rows) if rows else "<p>There are no rows.</p>\n"
    if picture is None:
        return f"{head}{shown}</section>\n"
    data = base64.b64encode(picture).decode()
    image = f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(_PICTURES[part.picture])}">'
    return f'{head}<div class="both">\n<div>\n{shown}</div>\n<figure>{image}</figure>\n</div>\n</section>\n'


def _first_rows(table: pyarrow.Table) -> list[dict[str, Any]]:
    """Return the first rows, without pairs in which one linked concept counts for both."""
    if "common_descendants" in table.column_names:
        import pyarrow.compute as compute

        table = table.filter(compute.equal(table["common_descendants"], 0))
    if "year" in table.column_names:
        return list(reversed(table.to_pylist()))[:ROWS]
    rows: list[dict[str, Any]] = table.slice(0, ROWS).to_pylist()
    return rows


def _table(part: _Part, rows: list[dict[str, Any]]) -> str:
    used = {name: title for name, title in part.columns.items() if any(row[name] is not None for row in rows)}
    head = "".join(f'<th scope="col"{_class(rows[0][name])}>{title}</th>' for name, title in used.items())
    body = "".join(f"<tr>{''.join(_cell(name, title, row) for name, title in used.items())}</tr>\n" for row in rows)
    return (
        f"<table>\n<caption>{part.title}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n"
    )


def _class(value: Any) -> str:
    return ' class="number"' if isinstance(value, (int, float)) else ""


def _cell(name: str, title: str, row: Mapping[str, Any]) -> str:
    return f'<td data-name="{title}"{_class(row[name])}><div>{_content(name, row)}</div></td>'


def _content(name: str, row: Mapping[str, Any]) -> str:
    value = row[name]
    if name in _CONCEPTS:
        return _concept(value, row[_CONCEPTS[name]], row.get("types"))
    if name in _SHARES:
        return f"{100 * value:.2f} %"
    if isinstance(value, float):
        return f"{value:,.2f}"
    if isinstance(value, int):
        return str(value) if "year" in name else f"{value:,}"
    return f"<bdi>{escape(str(value or ''))}</bdi>"


def _concept(concept_id: str, name: str | None, types: str | None) -> str:
    url = concept_url(concept_id)
    shown = f"<bdi>{escape(concept_id)}</bdi>"
    linked = f'<a href="{escape(url)}">{shown}</a>' if url else shown
    of_types = "".join(f" · <bdi>{escape(display_type(type))}</bdi>" for type in (types or "").split("|") if type)
    return f"<bdi>{escape(name or '')}</bdi><small>{linked}{of_types}</small>"


def _figures(statistics: CorpusStatistics, plots: bool | None) -> tuple[Mapping[str, Any], list[str]]:
    """Return the figures, and the notes of the page."""
    from .corpus_plots import draw_corpus
    from .figures import check_matplotlib

    if plots is False:
        return {}, statistics.notes
    try:
        check_matplotlib()
    except SapbertError:
        if plots:
            raise
        return {}, [*statistics.notes, NO_PICTURES]
    return draw_corpus(statistics.tables), statistics.notes


def _save_figures(figures: Mapping[str, Any], folder: Path) -> dict[str, bytes]:
    """Write the figures, and return those of the page."""
    from .figures import save_both

    for name, figure in figures.items():
        save_both(figure, folder / name)
    return {name: (folder / f"{name}.svg").read_bytes() for name in figures}


def _write_table(table: pyarrow.Table, path: Path) -> None:
    _write_parquet(table, path.with_name(path.name + ".parquet"))
    with path.with_name(path.name + ".tsv").open("w", encoding="utf8", newline="") as file:
        file.write(tsv_line(table.column_names))
        for batch in table.to_batches(_ROWS_PER_STEP):
            columns = [column.to_pylist() for column in batch.columns]
            file.writelines(map(tsv_line, zip(*columns, strict=True)))


def _write_parquet(table: pyarrow.Table, path: Path) -> None:
    from pyarrow import parquet

    parquet.write_table(table, path)


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode())


def _new_names_table(lines: list[str]) -> pyarrow.Table:
    """Return the table of new names with its types. No cell of its lines has a tab or a line end."""
    import pyarrow

    names, *rows = (line.removesuffix("\n").split("\t") for line in lines)
    numbers = {"similarity": "float64", "occurrences": "int64", "documents": "int64"}
    table = pyarrow.table({name: pyarrow.array([row[i] for row in rows], "string") for i, name in enumerate(names)})
    return table.cast(pyarrow.schema([(name, pyarrow.type_for_alias(numbers.get(name, "string"))) for name in names]))
