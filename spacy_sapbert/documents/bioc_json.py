"""Turn BioC JSON into the elements of BioC XML."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from ..errors import Errors, SapbertError
from ..files.values import check_writable, parse_json

_LISTS = {"passages": "passage", "sentences": "sentence", "annotations": "annotation", "relations": "relation"}


def json_documents(path: Path, content: bytes) -> Iterator[tuple[int, Element]]:
    """Yield the documents of BioC JSON, each with line 1.

    The content is a collection, a list of collections, or an object with a list of documents. The answers of PubTator
    have such forms.

    Args:
        path: The file, for error messages.
        content: Its content.

    Raises:
        SapbertError: E217 if the content is not BioC JSON.
    """
    try:
        value = parse_json(content.removeprefix(codecs.BOM_UTF8))
        check_writable(value)
    except ValueError as error:
        raise SapbertError(Errors.E217.format(path=path, reason=error)) from error
    documents = list(_documents(value))
    if not documents:
        raise SapbertError(Errors.E217.format(path=path, reason="it has no documents with passages"))
    for document in documents:
        yield 1, _element("document", document)


def _documents(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects with passages, at most two lists deep."""
    for collection in value if isinstance(value, list) else [value]:
        if not isinstance(collection, dict):
            continue
        if isinstance(collection.get("passages"), list):
            yield collection
            continue
        for documents in collection.values():
            for document in documents if isinstance(documents, list) else ():
                if isinstance(document, dict) and isinstance(document.get("passages"), list):
                    yield document


def _element(tag: str, value: dict[str, Any]) -> Element:
    element = Element(tag)
    for key, content in value.items():
        if key == "infons" and isinstance(content, dict):
            for name, infon in content.items():
                SubElement(element, "infon", key=str(name)).text = "" if infon is None else str(infon)
        elif key == "locations" and isinstance(content, list):
            for location in content:
                attributes = location if isinstance(location, dict) else {}
                SubElement(element, "location", {str(name): str(number) for name, number in attributes.items()})
        elif key in _LISTS and isinstance(content, list):
            element.extend(_element(_LISTS[key], item) for item in content if isinstance(item, dict))
        elif key == "id" and tag == "annotation":
            element.set("id", str(content))
        elif key in ("id", "offset", "text") and content is not None:
            SubElement(element, key).text = str(content)
    return element
