"""Open the templates of pages, which escape all values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Template

LOOK = (Path(__file__).parent / "look.css").read_text(encoding="utf8")
"""The style that all pages share."""


def open_template(path: Path, *, style: str, script: str = "", **filters: Any) -> Template:
    """Return the template of a page.

    Args:
        path: The file.
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
