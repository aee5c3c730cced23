"""What pages show: labels and semantic types as words, the web pages of concepts, and the templates."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ..kb.ids import prefixes
from ..kb.mapping import vocabulary_of
from ..kb.semantic_types import semantic_type_tree

if TYPE_CHECKING:
    from jinja2 import Template

LOOK = (Path(__file__).parent / "look.css").read_text(encoding="utf8")
"""The style that all pages share."""
N_COLORS = 8
"""How many colors `look.css` has."""
_LONGEST_ACRONYM = 4  # in letters; longer words in capitals are words
_CELL_LINE = re.compile(r"CVCL_[A-Z0-9]{4}")
_CELL_LINE_PAGE = "https://www.cellosaurus.org/"


def display_label(label: str) -> str:
    """Return a label as words: "disease_ontology" becomes "Disease Ontology", and "CellLine" becomes "Cell Line".

    A label with blanks is written for people and stays as it is.
    """
    if " " in label.strip():
        return label.strip()
    pairs = pairwise(f"{label} ")
    apart = "".join(f"{letter} " if letter.islower() and after.isupper() else letter for letter, after in pairs)
    return " ".join(map(_word, apart.replace("_", " ").replace("-", " ").split())) or "No label"


def display_type(type: str) -> str:
    """Return a semantic type as words: the name of a type of the UMLS for its id ("T047"), and others as labels are."""
    node = semantic_type_tree().type_id_to_node.get(type)
    return node.full_name if node else display_label(type)


def _word(word: str) -> str:
    if word.isupper() and len(word) > _LONGEST_ACRONYM:
        return word.capitalize()
    return word[:1].upper() + word[1:]


class LabelColors:
    """The number of the color of each label, from 0, in the order in which labels are first asked for."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __getitem__(self, label: str) -> int:
        return self._numbers.setdefault(label, len(self._numbers)) % N_COLORS


def concept_url(concept_id: str) -> str | None:
    """Return the URL of a concept's web page; None for an id of an unknown vocabulary."""
    if _CELL_LINE.fullmatch(concept_id):
        return _CELL_LINE_PAGE + concept_id
    page = prefixes().pages.get(vocabulary_of(concept_id))
    return page.replace("$1", quote(concept_id.partition(":")[2] or concept_id, safe="")) if page else None


def open_template(path: Path, *, style: str, script: str = "", **filters: Any) -> Template:
    """Return the template of a page.

    Args:
        style: The text of its `<style>` element.
        script: The text of its `<script>` element, if it has one.
        filters: Functions that the template applies to values, by name.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(path.parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(filters)
    environment.globals.update(style=Markup(style), script=Markup(script))
    return environment.get_template(path.name)
