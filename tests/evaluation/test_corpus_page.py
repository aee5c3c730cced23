from __future__ import annotations

import csv
import json
import re
import sys
from html.parser import HTMLParser

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.evaluation.corpus_page import (
    NO_PICTURES,
    ROWS,
    check_folder,
    render_corpus_page,
    write_corpus_statistics,
)
from spacy_sapbert.evaluation.corpus_statistics import CorpusStatistics
from spacy_sapbert.outputs.tables import unescaped

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

EVIL = "=<script>alert('1')</script>\"'\t|$x^2$"
NEW_NAMES = [
    "keep\tname\tid\tpreferred_name\tmatched_name\tsimilarity\toccurrences\tdocuments\tother_concepts\tcorrected_from"
    "\tdoc_id\texample\n",
    "\t<b>name</b>\tD001943\tBreast Neoplasms\tbreast cancer\t0.9100\t4\t3\t\t\td1\tan <i>example</i>\n",
]


def statistics(n=3, new_names=None):
    ids = ["D001943", EVIL, *(f"DOID:{number}" for number in range(2, n))][:n]
    numbers = list(range(n))
    names = ["Breast Neoplasms", EVIL, *(f"a rather long name of the concept {number}" for number in range(2, n))][:n]
    concepts = {"concept_id": ids, "preferred_name": names, "types": ["T047|Disease", EVIL, *[None] * (n - 2)][:n]}
    concepts |= {"documents": [1000 - 10 * i for i in numbers], "share": [0.5 - i / 100 for i in numbers]}
    concepts |= {"mentions": [2000] * n, "first_year": [1999] * n, "last_year": [2020] * n}
    pairs = {"concept_a": ids[:2], "name_a": names[:2], "concept_b": ids[:2][::-1], "name_b": names[:2][::-1]}
    pairs |= {"documents_a": [9, 9], "documents_b": [9, 9], "both_documents": [4, 3], "expected": [1.5, 0.5]}
    pairs |= {"lift": [2.67, 6.0], "pmi": [1.4, -2.6], "log_likelihood": [12.3, 11.0]}
    years = {"year": [2019, 2020], "documents": [1500, 600], "documents_with_links": [1400, 500]}
    by_year = {"concept_id": [ids[0]] * 2, "preferred_name": [names[0]] * 2, "year": [2019, 2020]}
    by_year |= {"documents": [3, 4], "documents_of_year": [1500, 600], "share": [0.002, 0.0067]}
    tables = {"concepts": concepts, "pairs": pairs, "years": years, "concept_years": by_year}
    tables["rollup_pairs"] = {**pairs, "common_descendants": [0, 2]}
    summary = {"documents": 2000, "links": 12345, "failed_documents": 0, "all_documents_known": True}
    arrow = {name: pyarrow.table(columns) for name, columns in tables.items()}
    return CorpusStatistics(summary, ["A note with <b>."], arrow, new_names)


class Page(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.addresses = [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.addresses += [value for name, value in attributes if name in ("href", "src")]


def test_the_page_runs_and_loads_nothing():
    page = render_corpus_page(statistics(new_names=NEW_NAMES), {"concepts": b"<svg onload='x'/>"})
    parsed = Page(page)
    assert not {"script", "b", "svg", "iframe", "link"} & set(parsed.tags)
    assert "default-src 'none'; style-src 'unsafe-inline'; img-src data:" in page
    outside = [address for address in parsed.addresses if not address.startswith(("#", "data:image/svg+xml;base64,"))]
    files = {address for address in outside if re.fullmatch(r"\w+\.(tsv|parquet)", address)}
    assert {"concepts.tsv", "pairs.parquet", "new_names.tsv"} <= files
    assert all(address.startswith("https://") for address in set(outside) - files)
    assert "https://meshb.nlm.nih.gov/record/ui?ui=D001943" in outside


def test_the_page_shows_numbers_and_the_first_rows():
    page = render_corpus_page(statistics(ROWS + 4))
    assert f"The first {ROWS} of {ROWS + 4} rows" in page
    assert "<dd>12,345</dd>" in page
    assert "Failed documents" not in page
    assert "A note with &lt;b&gt;." in page
    assert '<td data-name="Share" class="number"><div>50.00 %</div></td>' in page
    assert '<td data-name="First year" class="number"><div>1999</div></td>' in page
    assert page.index('<div>2020</div></td><td data-name="Documents"') < page.index("<div>2019</div>")
    assert page.count("<div>12.30</div>") == 2
    assert page.count("<div>11.00</div>") == 1  # the other one is a pair in which one concept counts for both


def test_files(tmp_path):
    pytest.importorskip("matplotlib")
    folder = tmp_path / "deep" / "corpus"
    write_corpus_statistics(statistics(new_names=NEW_NAMES), folder)
    tables = ("concepts", "pairs", "years", "concept_years", "rollup_pairs", "new_names")
    pictures = ("concepts", "pairs", "trends")
    wanted = {f"{name}{ending}" for name in tables for ending in (".tsv", ".parquet")}
    wanted |= {f"{name}{ending}" for name in pictures for ending in (".svg", ".png")} | {"index.html", "summary.json"}
    assert {path.name for path in folder.iterdir()} == wanted
    assert parquet.read_table(folder / "concepts.parquet").column("concept_id")[1].as_py() == EVIL
    with (folder / "concepts.tsv").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert unescaped(rows[1]["concept_id"]) == EVIL.replace("\t", " ")
    assert rows[1]["concept_id"].startswith("'=")
    assert rows[2]["types"] == ""
    assert (folder / "new_names.tsv").read_text() == "".join(NEW_NAMES)
    assert parquet.read_table(folder / "new_names.parquet").column("documents").to_pylist() == [3]
    assert json.loads((folder / "summary.json").read_text())["notes"] == ["A note with <b>."]
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    write_corpus_statistics(statistics(new_names=NEW_NAMES), folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert [path.name for path in folder.parent.iterdir()] == ["corpus"]


def test_without_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    write_corpus_statistics(statistics(), tmp_path / "a")
    assert NO_PICTURES in (tmp_path / "a" / "index.html").read_text()
    assert not list((tmp_path / "a").glob("*.svg"))
    with pytest.raises(SapbertError, match="E542"):
        write_corpus_statistics(statistics(), tmp_path / "b", plots=True)
    assert not (tmp_path / "b").exists()
    write_corpus_statistics(statistics(), tmp_path / "b", plots=False)
    assert NO_PICTURES not in (tmp_path / "b" / "index.html").read_text()


def test_a_folder_of_something_else_stays(tmp_path):
    (tmp_path / "thesis.txt").write_text("years of work")
    for path in (tmp_path, tmp_path / "thesis.txt"):
        with pytest.raises(SapbertError, match="E507"):
            write_corpus_statistics(statistics(), path, plots=False)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"
    (tmp_path / "empty").mkdir()
    check_folder(tmp_path / "empty")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_people_can_read_it(tmp_path, browser, screen, faults, width, dark):
    pytest.importorskip("matplotlib")
    write_corpus_statistics(statistics(20, NEW_NAMES), tmp_path / "corpus")
    screen(width, 900, dark=dark)
    browser.get((tmp_path / "corpus" / "index.html").as_uri())
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script("return [...document.images].every(image => image.naturalWidth > 0)")
    assert faults() == []
