"""Write docs/api.md, the reference of the package, from its docstrings.

python scripts/api_reference.py
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import tomllib
import typer
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.tokens import Doc, Span
from spacy.tokens.underscore import Underscore

import spacy_sapbert
from spacy_sapbert import cli, errors, types
from spacy_sapbert.corpora.reader import FORMATS
from spacy_sapbert.corpora.report import Report
from spacy_sapbert.evaluation import abbreviations, calibration, compare, composites, concepts, linking, separation
from spacy_sapbert.evaluation import pipeline as whole_pipeline
from spacy_sapbert.kb.readers import READERS, ReadReport
from spacy_sapbert.pipeline import attributes

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "api.md"

INTRODUCTION = """\
<!-- Made from the docstrings by `python scripts/api_reference.py`: change those, then run it again. -->

# API reference

What each part takes, gives and complains of. How to do something with it stands in the [README](../README.md) and in
the pages that it names."""

# an argument or several, RETURNS, YIELDS or RAISES; then the type and the text
ENTRY = re.compile(r"(\w+(?:, \w+)*)(?: \((.+?)\))?: (.*)")
ESCAPED_BAR = r"\|"
OUTCOMES = {"RETURNS": "Returns", "YIELDS": "Yields", "RAISES": "Raises"}

EVALUATIONS = (
    linking.evaluate_linking,
    whole_pipeline.evaluate_pipeline,
    concepts.evaluate_concepts,
    abbreviations.evaluate_abbreviations,
    composites.evaluate_composites,
    separation.evaluate_separation,
    compare.compare_predictions,
    calibration.calibrate,
)


# --- docstrings


class Entry(NamedTuple):
    """What a docstring says of an argument, of several, or of the outcome."""

    names: tuple[str, ...]
    type: str
    text: str


class Docstring(NamedTuple):
    """The paragraphs before the entries, the entries, and the paragraphs after them."""

    text: list[str]
    entries: list[Entry]
    notes: list[str]

    def outcome(self, name: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.names == (name,)), None)


def parse(thing: Any, known: Iterable[str] = ()) -> Docstring:
    """Read the docstring of a class, a function or a property.

    known (Iterable[str]): names whose entries need no type.
    """
    parts: list[tuple[tuple[str, ...], str, list[str]]] = [((), "", [])]
    for line in (inspect.getdoc(thing) or "").splitlines():
        found = ENTRY.fullmatch(line)
        names = tuple(found[1].split(", ")) if found else ()
        if found and (found[2] or {*known, *OUTCOMES}.issuperset(names)):
            parts.append((names, found[2] or "", [found[3]]))
        elif not line or (parts[-1][0] and not line.startswith(" ")):
            parts.append(((), "", [line]))
        else:
            parts[-1][2].append(line)
    entries = [Entry(names, type, joined(lines)) for names, type, lines in parts if names]
    first = next((place for place, part in enumerate(parts) if part[0]), len(parts))
    return Docstring(paragraphs(parts[:first]), entries, paragraphs(parts[first:]))


def paragraphs(parts: Iterable[tuple[tuple[str, ...], str, list[str]]]) -> list[str]:
    return [text for names, _, lines in parts if not names and (text := joined(lines))]


def joined(lines: Sequence[str]) -> str:
    return " ".join(filter(None, map(str.strip, lines)))


# --- pieces of Markdown


def code(text: str) -> str:
    return f"`{text}`" if text else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    lines += (f"| {' | '.join(cell.replace('|', ESCAPED_BAR) for cell in row)} |" for row in rows)
    return "\n".join(lines)


def anchor(heading: str) -> str:
    """RETURNS (str): what a link to the heading ends with."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def link(heading: str) -> str:
    return f"[{heading.removeprefix('spacy-sapbert.')}](#{anchor(heading)})"


def shown(value: Any) -> str:
    """RETURNS (str): a default as one writes it in Python; long lists are cut short."""
    if value is inspect.Parameter.empty:
        return ""
    if isinstance(value, dict) and len(value) == 1 and next(iter(value)).startswith("@"):
        return code(next(iter(value.values())))
    if callable(value):
        return code(value.__name__) if not value.__name__.startswith("_") else ""
    if isinstance(value, list) and len(value) > 3:
        return code(f"[{', '.join(map(json.dumps, value[:2]))}, …]")
    return code(json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value))


def written(annotation: Any) -> str:
    """RETURNS (str): a type without the modules that its parts come from."""
    if annotation is inspect.Parameter.empty:
        return ""
    annotation = getattr(annotation, "__forward_arg__", annotation)
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", text).replace("'", "").replace('"', "")


def parameters_of(thing: Any) -> dict[str, tuple[str, Any]]:
    """RETURNS (dict[str, tuple[str, Any]]): types and defaults by name, without `self`."""
    found = inspect.signature(thing).parameters
    return {name: (written(one.annotation), one.default) for name, one in found.items() if name != "self"}


def signature(thing: Any) -> str:
    """RETURNS (str): how it is called: without types, and with dots for the defaults."""
    found = inspect.signature(thing)
    some = [
        one.replace(annotation=one.empty, default=one.empty if one.default is one.empty else Dots())
        for one in found.parameters.values()
        if one.name != "self"
    ]
    return f"{thing.__name__}{inspect.Signature(some)}"


class Dots:
    def __repr__(self) -> str:
        return "…"


def arguments(doc: Docstring, parameters: Mapping[str, tuple[str, Any]], head: str = "argument") -> list[str]:
    """RETURNS (list[str]): a table of the parameters, those that one entry describes in one row."""
    entries = {name: entry for entry in doc.entries for name in entry.names}
    rows: dict[tuple[str, ...], Sequence[str]] = {}
    for name, (type, _) in parameters.items():
        entry = entries.get(name, Entry((name,), type, ""))
        some = [parameters[one] for one in entry.names if one in parameters]
        written_types = [code(entry.type)] if entry.type else [code(type) for type, _ in some]
        cells = [map(code, entry.names), written_types, (shown(default) for _, default in some)]
        rows[entry.names] = [*(", ".join(dict.fromkeys(filter(None, cell))) for cell in cells), entry.text]
    return [table([head, "type", "default", "meaning"], rows.values())] if rows else []


def outcomes(doc: Docstring) -> list[str]:
    return [outcome(entry) for name in OUTCOMES if (entry := doc.outcome(name))]


def outcome(entry: Entry) -> str:
    return f"{OUTCOMES[entry.names[0]]} {code(entry.type)}: {entry.text}".replace(" :", ":")


def described(thing: Any, parameters: Mapping[str, tuple[str, Any]], head: str = "argument") -> list[str]:
    """RETURNS (list[str]): all that a docstring says, and a table of the parameters."""
    doc = parse(thing, parameters)
    others = [entry for entry in doc.entries if not {*parameters, *OUTCOMES}.intersection(entry.names)]
    kept = [f"Attribute {', '.join(map(code, one.names))} ({code(one.type)}): {one.text}" for one in others]
    return [*doc.text, *arguments(doc, parameters, head), *kept, *doc.notes, *outcomes(doc)]


def function(thing: Callable) -> list[str]:
    parameters = parameters_of(thing)
    return [f"### {thing.__name__}", f"`{signature(thing)}` in `{thing.__module__}`", *described(thing, parameters)]


MEMBERS = (FunctionType, property, cached_property)


def members(owner: type, left_out: Callable[[str], bool] = lambda name: False) -> list[str]:
    """RETURNS (list[str]): a list of the public methods and properties that a class of ours has."""
    ours = [base for base in owner.__mro__ if base.__module__.startswith("spacy_sapbert")]
    found = {name: member for base in reversed(ours) for name, member in vars(base).items()}
    public = {name: one for name, one in found.items() if not name.startswith("_") and not left_out(name)}
    lines = [line for name, one in public.items() if isinstance(one, MEMBERS) for line in member(name, one)]
    return ["\n".join(lines)] if lines else []


def member(name: str, thing: Any) -> Iterator[str]:
    is_function = inspect.isfunction(thing)
    doc = parse(thing, parameters_of(thing) if is_function else ())
    texts = [*doc.text, *doc.notes, *outcomes(doc)]
    yield f"- **{code(signature(thing) if is_function else name)}**: {' '.join(texts[:1])}"
    yield from (f"  - {', '.join(map(code, one.names))} ({code(one.type)}): {one.text}" for one in arguments_of(doc))
    yield from (f"  - {text}" for text in texts[1:])


def arguments_of(doc: Docstring) -> list[Entry]:
    return [entry for entry in doc.entries if not set(entry.names) <= set(OUTCOMES)]


# --- sections


def components(factories: Iterable[str]) -> Iterator[str]:
    yield "## Components"
    yield (
        "`nlp.add_pipe(NAME, config={…})` adds one. Settings also stand in a config file, where `None` is `null`. All "
        "of them have spaCy's own methods beside those that are listed."
    )
    for name in factories:
        module = import_module(f"spacy_sapbert.pipeline.{name}")
        meta = Language.get_factory_meta(name)
        owner = getattr(module, "".join(map(str.capitalize, name.split("_"))))
        annotated = parameters_of(owner)
        yield f"### {name}"
        yield f"Writes {', '.join(map(code, meta.assigns))}. Its class is `{module.__name__}.{owner.__name__}`."
        settings = {setting: (annotated[setting][0], default) for setting, default in meta.default_config.items()}
        yield from described(owner, settings, "setting")
        yield from members(owner, left_out=lambda name: hasattr(TrainablePipe, name))


def extension_attributes() -> Iterator[str]:
    yield "## Extension attributes"
    yield (
        "They can also be set. `spacy_sapbert.pipeline.attributes.register()` makes them known in a process that has "
        "none of the components."
    )
    attributes.register()
    owners = {"doc": (Doc, Underscore.doc_extensions), "span": (Span, Underscore.span_extensions)}
    rows = []
    for owner, (cls, extensions) in owners.items():
        for name in sorted(extensions):  # another plugin may have registered some of them before
            _, _, getter, setter = cls.get_extension(name)
            if getter and getter.__module__ == attributes.__name__:
                returned = parse(getter).outcome("RETURNS")
                assert returned, f"{getter.__name__} does not say what it returns"
                texts = [returned.text, *(f"Setting it: {text}" for text in parse(setter).text)]
                rows.append((code(f"{owner}._.{name}"), code(returned.type), " ".join(texts)))
    yield table(["attribute", "type", "holds"], rows)


def plain_data() -> Iterator[str]:
    yield "## Data"
    yield f"Named tuples of `{types.__name__}`. `NIL` there is what `kb_id_` is of a mention without a link."
    for name, one in vars(types).items():
        if hasattr(one, "_fields"):
            fields = {
                field: (written(one.__annotations__[field]), one._field_defaults.get(field, inspect.Parameter.empty))
                for field in one._fields
            }
            yield f"### {name}"
            yield from described(one, fields, "field")


def registered(groups: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    yield "## Registered functions"
    yield "For config files: the key says in which registry, the heading by which name."
    for group, points in groups.items():
        yield f"### @{group.split('_', 1)[1]}"
        for name, place in points.items():
            module, _, attribute = place.partition(":")
            thing = getattr(import_module(module), attribute)
            yield f"#### {name}"
            yield from described(thing, parameters_of(thing))


def vocabularies() -> Iterator[str]:
    yield "## Vocabularies"
    store = spacy_sapbert.ConceptStore
    yield f"### {store.__name__}"
    yield f"`{signature(store)}` in `{store.__module__}`"
    yield from described(store, parameters_of(store))
    yield from members(store)
    yield from function(spacy_sapbert.build_store)
    yield from function(spacy_sapbert.read_vocabulary)
    yield "The formats, each with the options that it takes beside these:"
    rows = []
    for name, reader in READERS.items():
        what = parse(inspect.getmodule(reader)).text[0]
        options = (f"`{', '.join(one.names)}`: {one.text}" for one in arguments_of(parse(reader)))
        rows.append((code(name), what, " ".join(options)))
    yield table(["format", "what is read", "options"], rows)
    yield from report(ReadReport)


def corpora() -> Iterator[str]:
    yield "## Corpora"
    yield f"The formats are {', '.join(map(code, FORMATS))}; [Corpora](corpora.md) says what each of them is."
    yield from function(spacy_sapbert.read_corpus)
    yield from report(Report)


def report(owner: Any) -> Iterator[str]:
    yield f"### {owner.__name__}"
    yield f"In `{owner.__module__}`."
    fields = [one for one in dataclasses.fields(owner) if not one.name.startswith("_")]
    doc = parse(owner, [one.name for one in fields])
    told = {name for entry in doc.entries for name in entry.names}
    others = [one for one in fields if one.name not in told]
    rest = [Entry((one.name,), written(one.type), one.metadata["label"]) for one in others]
    yield from doc.text
    rows = ((", ".join(map(code, one.names)), code(one.type), one.text) for one in [*rest, *doc.entries])
    yield table(["field", "type", "holds"], rows)
    yield from members(owner)


def evaluation() -> Iterator[str]:
    yield "## Evaluation"
    yield "[Evaluating](evaluating.md) says which of them answers which question; each has a command."
    for measure in EVALUATIONS:
        yield from function(measure)


def commands() -> Iterator[str]:
    yield "## Commands"
    yield "`spacy-sapbert COMMAND --help` says the rest. `python -m spacy sapbert` runs the same commands."
    yield table(["command", "does"], ((code(name), text) for name, text in walk(typer.main.get_command(cli.app))))


def walk(group: Any, before: str = "") -> Iterator[tuple[str, str]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from walk(command, f"{before}{name} ")
        else:
            yield before + name, joined(command.help.split("\n\n")[0].splitlines())


def messages() -> Iterator[str]:
    yield "## Errors and warnings"
    yield (
        "An error is a `SapbertError`, which is a `ValueError`; a warning is a `UserWarning`. The code stands in "
        "brackets at the beginning of the message, and what is in braces here is filled in."
    )
    for start, area in re.findall(r"(E\d)xx ([^,.]+)", errors.__doc__ or ""):
        yield f"### {start}xx: {joined(area.splitlines())}"
        yield codes(errors.Errors, start)
    yield "### Warnings"
    yield codes(errors.Warnings, "W")


def codes(owner: type, start: str) -> str:
    found = sorted((name, text) for name, text in vars(owner).items() if name.startswith(start))
    return table(["code", "message"], ((name, text.removeprefix(f"[{name}] ")) for name, text in found))


# --- the page


def contents(blocks: Sequence[str]) -> str:
    """RETURNS (str): a list of links to all headings."""
    lines: list[str] = []
    for number, block in enumerate(blocks):
        level, _, heading = block.partition(" ")
        if level == "##":
            lines.append(f"- {link(heading)}")
        elif level == "###" and blocks[number + 1].startswith("####"):
            lines.append(f"  - {link(heading)}")
        elif level in ("###", "####"):
            lines[-1] += (", " if "), " in lines[-1] or "): " in lines[-1] else ": ") + link(heading)
    return "\n".join(lines)


def page() -> str:
    """RETURNS (str): the whole page."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups: dict[str, dict[str, str]] = project["entry-points"]
    functions = {group: points for group, points in groups.items() if group not in ("spacy_factories", "spacy_cli")}
    blocks = [
        *components(groups["spacy_factories"]),
        *extension_attributes(),
        *plain_data(),
        *registered(functions),
        *vocabularies(),
        *corpora(),
        *evaluation(),
        *commands(),
        *messages(),
    ]
    return "\n\n".join([INTRODUCTION, contents(blocks), *blocks]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
