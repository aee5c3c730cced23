"""Render the description of the endpoints as a page that loads nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..outputs.templates import LOOK, open_template
from .safety import page_policy

_FOLDER = Path(__file__).parent
_STYLE = LOOK + (_FOLDER / "api.css").read_text(encoding="utf8")
_MODELS = "#/components/schemas/"
API_POLICY = page_policy(_STYLE)
"""The Content-Security-Policy of the page."""

Schema = Mapping[str, Any]


class Endpoint(NamedTuple):
    """An endpoint on the page.

    Attributes:
        body: The schema of the body that is sent, if any.
        answers: The status, the meaning and the schema of each answer.
    """

    method: str
    path: str
    summary: str
    body: Schema | None
    answers: list[tuple[str, str, Schema]]


class Field(NamedTuple):
    """A key of a JSON object."""

    name: str
    type: str
    model: str | None
    description: str
    required: bool


def render_api(openapi: Schema) -> str:
    """Return the page as HTML.

    Args:
        openapi: The OpenAPI description.
    """
    models = {name: (schema.get("description", ""), _fields(schema)) for name, schema in _models(openapi)}
    return open_template(_FOLDER / "api.html", style=_STYLE).render(
        info=openapi["info"],
        endpoints=list(_endpoints(openapi)),
        models=models,
        fields=_fields,
        type_of=_type,
        model_of=_model,
    )


def _models(openapi: Schema) -> Iterator[tuple[str, Schema]]:
    for name, schema in openapi["components"]["schemas"].items():
        if "properties" in schema:
            yield name, schema


def _endpoints(openapi: Schema) -> Iterator[Endpoint]:
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            answers = [
                (status, answer["description"], _json_schema(answer))
                for status, answer in sorted(operation["responses"].items())
            ]
            body = _json_schema(operation["requestBody"]) if "requestBody" in operation else None
            yield Endpoint(method.upper(), path, operation["summary"], body, answers)


def _json_schema(content: Schema) -> Schema:
    found: Schema = content.get("content", {}).get("application/json", {}).get("schema", {})
    return found


def _fields(schema: Schema) -> list[Field]:
    """Return the keys of an object, or of the objects of a list."""
    schema = schema.get("items", schema)
    required = schema.get("required", ())
    return [
        Field(name, _type(value), _model(value), value.get("description", ""), name in required)
        for name, value in schema.get("properties", {}).items()
    ]


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
