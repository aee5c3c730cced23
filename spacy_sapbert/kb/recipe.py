"""Recipes say what a knowledge base is built from, and how. `catalog.yaml` holds those of `spacy-sapbert kb get`.

A recipe is data: a mapping of texts, numbers, lists and mappings, in YAML or from the options of `kb build`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from functools import cache
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any

from ..errors import ChoiceError, Errors, NotFoundError, SapbertError, SettingError
from ..files.opening import open_unpacked
from ..files.postgres import is_postgres
from ..files.source import read_yaml
from .curation import Curation
from .ids import canonical_id, language_tag
from .stop_names import StopNameRules, read_names

LATEST = "latest"
"""The release of a recipe whose address always gives the newest one."""
TRANSLATIONS = frozenset({"babelon"})
"""Formats of files that hold only translations."""
SUFFIXES = (".yaml", ".yml")
"""How the names of recipe files end."""

_HEADER_LINES = 200
_VERSION = b"data-version:"


# --- kinds of values. Each function returns the value, or raises TypeError with what it must be


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError("a text")
    return str(value)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _texts(value: Any) -> list[str]:
    return [_text(text) for text in _list(value)]


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError("true or false")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise TypeError("a number")
    return value


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("a mapping")
    return {_text(key): content for key, content in value.items()}


_KINDS: dict[str, Callable[[Any], Any]] = {
    "text": _text,
    "texts": _texts,
    "languages": lambda value: [] if "all" in _texts(value) else _texts(value),
    "flag": _flag,
    "number": _number,
    "columns": lambda value: {key: _texts(columns) for key, columns in _mapping(value).items()},
    "cells": lambda value: {key: _text(cell) for key, cell in _mapping(value).items()},
}

# --- keys: for each, the argument that it becomes and the kind of its value, as `recipe.json` has them

_Keys = dict[str, tuple[str, Callable[[Any], Any]]]


def _keys(table: Mapping[str, tuple[str, str]]) -> _Keys:
    return {key: (argument, _KINDS[kind]) for key, (argument, kind) in table.items()}


_TABLES = json.loads(Path(__file__).with_suffix(".json").read_bytes())
_CORPUS, _SOURCE = _keys(_TABLES["corpus"]), _keys(_TABLES["source"])
_OF_FORMAT: dict[str, _Keys] = {format: _keys(table) for format, table in _TABLES["formats"].items()}
_DEFAULTS = set(_SOURCE).union(*_OF_FORMAT.values()) - {"path", "address", "sha256"}


@dataclass(frozen=True)
class File:
    """A file of a recipe, or the folder of a release.

    Attributes:
        path: Where it is. For a file that is fetched, its name.
        format: Its format. None if the reader of corpora guesses it.
        language: The language of names that do not state one.
        settings: Arguments of `read_vocabulary`. For a corpus, the "types" of mentions that become names.
        address: Where it is fetched from. Empty for a file that is here.
        sha256: The checksum of the unpacked file, if its release is fixed.
    """

    path: Path
    format: str | None = None
    language: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    address: str = ""
    sha256: str | None = None


@dataclass(frozen=True)
class Recipe:
    """What a knowledge base is built from, and how. The page "Vocabularies" of the docs explains the keys.

    Attributes:
        name: Its name in the catalog, or the path of its file.
        sources: The vocabulary files.
        translations: Files that add names to the concepts of the sources.
        mentions: Corpora whose mentions become names.
        size: Of the download in MB, roughly.
        instead: What to do if the sources have no free address.
    """

    name: str
    sources: Sequence[File] = ()
    translations: Sequence[File] = ()
    mentions: Sequence[File] = ()
    mappings: Sequence[Path] = ()
    merge_xrefs: Sequence[str] = ()
    merge_sources: bool = True
    below: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    select: str = ""
    only_type: Sequence[str] = ()
    without_type: Sequence[str] = ()
    only_source: Sequence[str] = ()
    without_source: Sequence[str] = ()
    stop_names: Sequence[Path] = ()
    keep_names: Sequence[Path] = ()
    default_stop_names: bool = True
    add_unknown: bool = False
    strict: bool = False
    title: str = ""
    purpose: str = ""
    home: str = ""
    license: str = ""
    release: str = ""
    size: float = 0
    instead: str = ""

    @property
    def inputs(self) -> list[Path]:
        """All files that a build reads."""
        files = (*self.sources, *self.translations, *self.mentions)
        return [*map(attrgetter("path"), files), *self.mappings, *self.stop_names, *self.keep_names]

    @property
    def curation(self) -> Curation:
        """What a build takes from the sources."""
        types, sources = tuple(self.only_type), tuple(self.only_source)
        without_types, without_sources = tuple(self.without_type), tuple(self.without_source)
        return Curation(self.below, self.without, types, without_types, sources, without_sources, self.select)

    def stop_name_rules(self) -> StopNameRules:
        """Read the lists of names, and return which names must not be found in text."""
        return StopNameRules(self.default_stop_names, read_names(self.stop_names), read_names(self.keep_names))


_KINDS |= {  # by the type of a field of recipes
    "str": _text,
    "float": _number,
    "bool": _flag,
    "tuple[str, ...]": lambda ids: tuple(map(canonical_id, _texts(ids))),
    "Sequence[str]": _texts,
    "Sequence[Path]": lambda paths: list(map(Path, _texts(paths))),
    "Sequence[File]": _list,
}
_RECIPE: _Keys = {item.name: (item.name, _KINDS[str(item.type)]) for item in fields(Recipe) if item.name != "name"}


def parse_recipe(name: str, values: Mapping[str, Any]) -> Recipe:
    """Return the recipe with these values. Keys of a source that stand at the top apply to all sources.

    Raises:
        ChoiceError: A key is unknown, or does not exist for the format of a source.
        SettingError: A value has another type.
        SapbertError: E124 if the format of a source cannot be guessed.
    """
    defaults = {key: value for key, value in values.items() if key in _DEFAULTS}
    others = {key: value for key, value in values.items() if key not in _DEFAULTS}
    if others.get("select") == "":  # which would take all concepts
        raise SettingError(setting="select", component=name, value="empty", wanted="an expression of ECL")
    arguments = _arguments(others, _RECIPE, f"the recipe {name}", also=_DEFAULTS)
    for key, own in (("sources", {}), ("translations", {"format": None, "names_language": None})):
        arguments[key] = [_source(source, {**defaults, **own}, name) for source in arguments.get(key, ())]
    arguments["mentions"] = [_corpus(corpus, name) for corpus in arguments.get("mentions", ())]
    recipe = Recipe(name, **arguments)
    formats = [str(file.format) for file in (*recipe.sources, *recipe.translations)]
    known = set(_SOURCE).union(*(_OF_FORMAT.get(format, ()) for format in formats))
    for key in defaults if formats else ():
        if key not in known:
            what = f"key of a source with the format {' or '.join(formats)}"
            raise ChoiceError(given=key, what=what, choices=sorted(known))
    return recipe


def _source(given: Any, defaults: Mapping[str, Any], recipe: str) -> File:
    values = _file_values(given, recipe)
    format = values.get("format") or defaults.get("format")
    if is_postgres(values.get("path")):  # a `Path` would change it
        format, values = format or "omop", {**values, "database": values["path"]}
    if not format and "path" in values:
        from .readers import guess_format

        format = guess_format(Path(values["path"]))
    keys = {**_SOURCE, **_OF_FORMAT.get(format or "", {})}
    values = {key: value for key, value in defaults.items() if key in keys} | values
    arguments = _arguments({**values, "format": format}, keys, f"a source with the format {format} in {recipe}")
    address = arguments.pop("address", "")
    path = Path(arguments.pop("path", "") or address.rpartition("/")[2])
    language, sha256 = language_tag(arguments.pop("language", "")), arguments.pop("sha256", None)
    format = arguments.pop("format")
    if format in ("umls", "rxnorm"):
        from .readers.umls import UmlsSettings

        of_umls = [argument for argument, _ in _OF_FORMAT[format].values() if argument in arguments]
        own = {argument: arguments.pop(argument) for argument in of_umls}
        arguments |= {"umls": UmlsSettings(**own)} if own else {}
    return File(path, format, language, arguments, address, sha256)


def _corpus(given: Any, recipe: str) -> File:
    arguments = _arguments(_file_values(given, recipe), _CORPUS, f"mentions in {recipe}")
    return File(Path(arguments.pop("path")), arguments.pop("format", None), settings=arguments)


def _file_values(given: Any, recipe: str) -> dict[str, Any]:
    """Return the values of a file. A text is its path."""
    values = {"path": given} if isinstance(given, str) else given
    if not isinstance(values, dict) or not (values.get("path") or values.get("address")):
        raise SettingError(setting="path", component=f"a file of {recipe}", value=given, wanted="given")
    return values


def _arguments(values: Mapping[str, Any], keys: _Keys, where: str, also: Collection[str] = ()) -> dict[str, Any]:
    """Return the arguments for the values that are set. `also` has keys that are possible, but not among the values."""
    arguments = {}
    for key, value in values.items():
        if key not in keys:
            similar = get_close_matches(str(key), [*keys, *also], n=3)
            raise ChoiceError(given=key, what=f"key of {where}", choices=similar or sorted([*keys, *also]))
        if value is not None:
            argument, kind = keys[key]
            try:
                arguments[argument] = kind(value)
            except TypeError as error:
                raise SettingError(setting=key, component=where, value=repr(value), wanted=error) from error
    return arguments


# --- files of recipes


def read_recipe_values(path: Path) -> dict[str, Any]:
    """Read the values of a recipe from a YAML file.

    Raises:
        BadRecordError: It is not YAML, or not a mapping.
        CannotReadError, DamagedError: It cannot be read.
    """
    return read_yaml(path, "a recipe has keys and values, such as `sources: [doid.obo]`")


@cache
def read_catalog() -> Mapping[str, Recipe]:
    """Return the recipes of the catalog by name, in the order of the file."""
    values = read_recipe_values(Path(__file__).with_name("catalog.yaml"))
    return {name: parse_recipe(name, recipe) for name, recipe in values.items()}


def find_recipe(name: str) -> Recipe:
    """Return a recipe of the catalog that can be fetched.

    Raises:
        NotFoundError: The catalog has no such recipe.
        SapbertError: E111 it has no free address.
    """
    recipe = read_catalog().get(name.strip().lower())
    if recipe is None:
        similar = ", ".join(get_close_matches(name.strip().lower(), read_catalog())) or "none"
        remedy = f"Similar ones are: {similar}. `spacy-sapbert kb get` shows all of them."
        raise NotFoundError(what=f"vocabulary {name} in the catalog", remedy=remedy)
    if not recipe.sources:
        raise SapbertError(Errors.E111.format(name=recipe.name, license=recipe.license, instead=recipe.instead))
    return recipe


def release_in(path: Path) -> str:
    """Return the release that the header of an OBO file states. Empty for other files."""
    with open_unpacked(path) as lines:
        # a file of another format can be one long line, or no text
        for line in islice(iter(lambda: lines.readline(1000), b""), _HEADER_LINES):
            if line.startswith(b"["):
                break
            if line.startswith(_VERSION):
                return line.removeprefix(_VERSION).decode(errors="replace").strip().removeprefix("releases/")
    return ""
