"""Open the templates of the pages, which escape all values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

FOLDER = Path(__file__).parent


def open_template(name: str, *, style: str, script: str = "", **filters: Any) -> Template:
    """Return the template of a page.

    Args:
        name: The file.
        style: The text of its `<style>` element.
        script: The text of its `<script>` element, if it has one.
        filters: Functions that the template applies to values, by name.
    """
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(filters)
    environment.globals.update(style=Markup(style), script=Markup(script))
    return environment.get_template(name)
