"""docs/api.md: whether it is what the docstrings say, and whether they say enough."""

import importlib.util
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tomllib")  # from Python 3.11 on

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "api.md"


@pytest.fixture(scope="module")
def reference() -> Any:
    spec = importlib.util.spec_from_file_location("api_reference", ROOT / "scripts" / "api_reference.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def page(reference: Any) -> str:
    text: str = reference.page()
    return text


def test_the_page_is_what_the_docstrings_say(page: str) -> None:
    is_same = PAGE.read_text(encoding="utf-8") == page  # pytest would take minutes to show where they differ
    assert is_same, "docs/api.md is not what the docstrings say. Run: python scripts/api_reference.py"


def test_attributes_of_another_plugin_change_nothing(reference: Any) -> None:
    from spacy.tokens import Span

    before = list(reference.extension_attributes())
    Span.remove_extension("long_form")
    Span.set_extension("long_form", default=None)
    Span.set_extension("of_another", getter=str)
    assert list(reference.extension_attributes()) == before
    Span.remove_extension("of_another")


def test_every_argument_field_and_option_is_explained(page: str) -> None:
    unexplained = [line for line in page.splitlines() if re.match(r"\| `.*` \| `.*\|\s*\|$", line)]
    assert unexplained == []


def test_nothing_is_explained_that_is_no_argument(page: str) -> None:
    found = re.findall(r"^Attribute (`\w+`)", page, flags=re.MULTILINE)
    assert found == ["`sparse_part`", "`trained`"]  # those of an encoder


def test_links_lead_to_headings(reference: Any, page: str) -> None:
    anchors = Counter(map(reference.anchor, re.findall(r"^#+ (.*)", page, flags=re.MULTILINE)))
    linked = re.findall(r"\]\(#(.*?)\)", page)
    assert set(anchors.values()) == {1}
    assert set(linked) == set(anchors) - {"api-reference"}
    for file in re.findall(r"\]\((?!#)(.*?)\)", page):
        assert (PAGE.parent / file).is_file()


def test_all_codes_are_there(page: str) -> None:
    from spacy_sapbert.errors import Errors, Warnings

    codes = {name for owner in (Errors, Warnings) for name in vars(owner) if not name.startswith("_")}
    assert set(re.findall(r"^\| ([EW]\d{3}) \|", page, flags=re.MULTILINE)) == codes


def cut(text: str, *, size: int = 3, at: str | None = None, to: str | None = None) -> str:
    """Cut a text.

    Nothing is lost: it is cut, not thrown away.

    size (int): of a piece,
        in letters.
    at, to: where.
    `size` can be 0.
    RETURNS (str): a piece.
    RAISES (ValueError): there is none.
    """
    raise ValueError(text, size, at, to)


def test_a_docstring_is_read(reference: Any) -> None:
    doc = reference.parse(cut, {"size", "at", "to"})
    assert doc.text == ["Cut a text.", "Nothing is lost: it is cut, not thrown away."]
    assert doc.notes == ["`size` can be 0."]
    assert [tuple(entry) for entry in doc.entries] == [
        (("size",), "int", "of a piece, in letters."),
        (("at", "to"), "", "where."),
        (("RETURNS",), "str", "a piece."),
        (("RAISES",), "ValueError", "there is none."),
    ]


def test_a_function_is_written(reference: Any) -> None:
    title, place, *rest = reference.function(cut)
    assert title == "### cut"
    assert place.startswith("`cut(text, *, size=…, at=…, to=…)` in `")
    assert "| `size` | `int` | `3` | of a piece, in letters. |" in rest[2].splitlines()
    assert r"| `at`, `to` | `str \| None` | `None` | where. |" in rest[2].splitlines()
    assert rest[3:] == ["`size` can be 0.", "Returns `str`: a piece.", "Raises `ValueError`: there is none."]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("a", '`"a"`'),
        (None, "`None`"),
        (["a", "b", "c", "d"], '`["a", "b", …]`'),
        ({"@scorers": "some.v1"}, "`some.v1`"),
        ({}, "`{}`"),
        (cut, "`cut`"),
    ],
)
def test_a_default_is_shown(reference: Any, value: Any, wanted: str) -> None:
    assert reference.shown(value) == wanted
