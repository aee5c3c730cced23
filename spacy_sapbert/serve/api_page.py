"""Render the description of the endpoints as a page that loads nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..outputs.templates import LOOK, open_template
from .safety import page_policy

_FOLDER = Path(__file__).parent
_STYLE = LOOK + (_FOLDER / "api.css").read_text(encoding="utf8")
_MODELS = "#/components/schemas/"
API_POLICY = page_policy(_STYLE)
"""The Content-Security-Policy of the page."""

Schema = Mapping[str, Any]


def render_api(openapi: Schema) -> str:
    """Return the page as HTML.

    Args:
        openapi: The OpenAPI description.
    """
    template = open_template(_FOLDER / "api.html", style=_STYLE, schema=_schema, type=_type, model=_model)
    return template.render(openapi=openapi)


def _schema(content: Schema) -> Schema:
    """Return the schema of the JSON in a body or an answer; empty without one."""
    schema: Schema = content.get("content", {}).get("application/json", {}).get("schema", {})
    return schema


def _type(schema: Schema) -> str:
    """Return the type of a value in words."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(_MODELS)
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("title") if "properties" in schema else schema.get("type", "any value"))


def _model(schema: Schema) -> str | None:
    """Return the first model in a type, for a link to its table."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(_MODELS)
    inner = [*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else [])]
    return next(filter(None, map(_model, inner)), None)
