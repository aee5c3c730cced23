"""Read classifications: ClaML 2 (EN 14463), such as ICD-10 of WHO, ICD-10-GM and OPS; ICD-10-CM; and MedDRA.

In ClaML, a class with modifiers stands for the codes that they add, as "E10" for E10.0 to E10.9.

ICD-10-CM is the XML file of its tabular list, which CDC and CMS publish each year. Chapters, sections and codes
(`diag`) nest in each other. Each is a concept, and its parent is what contains it. The file lists no codes with a
seventh character, but says how to make them (`sevenChrDef`).

MedDRA is the folder MedAscii with llt.asc, pt.asc, hlt.asc, hlgt.asc, soc.asc and mdhier.asc. No file names the
columns. They are those of the MedDRA Distribution File Format Document (ICH), with `$` after every cell. Preferred
terms (PT) are concepts, and their lowest level terms (LLT) are their names. Annotated data contain LLT codes, so these
are alternative ids, even if the LLT is no longer current. High level terms, high level group terms and system organ
classes are concepts as well. They are the parents of the terms below them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, product
from typing import Any, NamedTuple, cast
from xml.etree.ElementTree import Element

from ...files.opening import file_manifest
from ...files.xml import ElementParser, LocatedElement, blocks_of
from ...types import Record
from ..ids import known_tag
from .classification_names import Code, complete_names, is_residual
from .context import NameParts, ReaderContext

_TAGS = "Title|Meta|Modifier|ModifierClass|Class"
_APART = frozenset({"Fragment", "ListItem", "Para"})
_NAMES = {"preferred": "preferred", "preferredLong": "exact", "inclusion": "exact"}  # scopes by kind of rubric
_PREFERRED, _EXCLUDED = "Rubric[@kind='preferred']/Label", "Meta[@name='excludeOnPrecedingModifier']"
_ICD10 = re.compile(r"(?:ICD|CIM|CIE|MKN)10(?!GM|CM|PCS|AM)")
# of a modifier, and codes that the modifiers of one class add: a hostile file could multiply them without bound
_MOST_CLASSES, _MOST_ADDED = 100, 1000


def read_claml(context: ReaderContext) -> Iterator[Record]:
    """Read chapters, blocks and categories. Inclusion terms are synonyms; exclusions and notes are not.

    Chapters and blocks have their kind as type. An inclusion term of a code for other or unspecified conditions has the
    scope "narrow". `complete_names` adds names without neutral words. The prefix of ids comes from the title: "ICD10",
    "ICD10GM", "OPS", or else its letters. The file is read twice: modifiers may come after the classes.
    """
    context, codes, modifiers = _read_codes(context)
    complete_names({number: code for number, code in codes.items() if code.names}, context.report.names_dropped)
    for element in _elements(context):
        if element.tag != "Class":
            continue
        number, kind = element.get("code", ""), element.get("kind", "")
        names = codes[number].names
        above = [superior.get("code", "") for superior in element.iterfind("SuperClass")]
        definition = next(map(_text, element.iterfind("Rubric[@kind='definition']/Label")), None)
        types = () if kind == "category" else (kind,)
        yield from _record(context, element.line, number, names, above, types=types, definition=definition)
        for added, title, base in _modified(context, element, modifiers, number, names[0][0]) if names else ():
            if added not in codes:
                yield from _record(context, element.line, added, [(title, "preferred", names[0][-1])], [base])


def _read_codes(
    context: ReaderContext,
) -> tuple[ReaderContext, dict[str, Code], dict[str, list[LocatedElement]]]:
    """Return the context with the prefix and the language of the file, its codes, and the classes of its modifiers."""
    prefix, codes = context.id_prefix or "", dict[str, Code]()
    modifiers: defaultdict[str, list[LocatedElement]] = defaultdict(list)
    for element in _elements(context):
        if element.tag == "Title":
            prefix = prefix or _prefix(element.get("name") or element.text or "")
        elif element.tag == "Meta" and element.get("name") == "lang":
            context = replace(context, language=context.language or known_tag(element.get("value", "")))
        elif element.tag == "ModifierClass":
            others = modifiers[element.get("modifier", "")]
            if len(others) < _MOST_CLASSES:
                others.append(element)
            else:
                context.broken(element.line, f"a modifier has more than {_MOST_CLASSES} classes")
        elif element.tag == "Class":
            parent = element.find("SuperClass")
            code = Code([], None if parent is None else parent.get("code"), element.get("kind") == "category")
            codes.setdefault(element.get("code", ""), code).names.extend(_names(element))
    return replace(context, id_prefix=prefix), codes, modifiers


def _elements(context: ReaderContext) -> Iterator[LocatedElement]:
    parser = ElementParser(context.path, "claml", ["ClaML", _TAGS])
    return (element for _, element in parser.elements(context.chunks()))


def _prefix(title: str) -> str:
    letters = re.sub(r"[^A-Z0-9]", "", title.upper())
    return "ICD10" if _ICD10.match(letters) else re.sub(r"(?:19|20)\d\d.*", "", letters)


def _record(
    context: ReaderContext, line: int, code: str, names: list[NameParts], above: list[str], **more: Any
) -> Iterator[Record]:
    context.report.rows_read += 1
    concept_id, *parents = (number and f"{context.id_prefix}:{number}" for number in (code, *above))
    return context.record(line, concept_id, names, parents=parents, **more)


def _names(element: Element) -> list[NameParts]:
    """Return the names of a class, the preferred one first."""
    names: list[NameParts] = []
    for kind, scope in _NAMES.items():
        for label in element.iterfind(f"Rubric[@kind='{kind}']/Label"):
            is_narrower = kind == "inclusion" and names and is_residual(names[0][0])
            names.append((_text(label), "narrow" if is_narrower else scope, label.get("xml:lang", "")))
    return names


def _text(label: Element) -> str:
    """Return the text of a label, without references to codes."""
    return " ".join(blocks_of(label, _APART, lambda part: part.tag == "Reference"))


def _modified(
    context: ReaderContext, element: LocatedElement, modifiers: dict[str, list[LocatedElement]], code: str, title: str
) -> Iterator[tuple[str, str, str]]:
    """Yield code and title of the classes that the modifiers make, and the code to which each was added.

    A later modifier applies to those that the one before it made.
    """
    level, n_added = [(code, title, "")], 0
    for modified in element.iterfind("ModifiedBy"):
        valid = {item.get("code") for item in modified.iterfind("ValidModifierClass")}
        bases, level = level, []
        for modifier in modifiers.get(modified.get("code", ""), ()):
            end, also = modifier.get("code", ""), next(map(_text, modifier.iterfind(_PREFERRED)), "")
            excluded = tuple(meta.get("value", "").rpartition(" ")[2] or " " for meta in modifier.iterfind(_EXCLUDED))
            if modified.get("all") != "false" or end in valid:
                level += [
                    (base + end, f"{name}: {also}", base) for base, name, _ in bases if not base.endswith(excluded)
                ]
        n_added += len(level)
        if n_added > _MOST_ADDED:
            return context.broken(element.line, f"modifiers of {code} add more than {_MOST_ADDED} codes")
        yield from level


# --- ICD-10-CM

# The codes that a chapter or section covers, at the end of its description: (A00-B99), (A00), (C43-C4A)
_RANGE = re.compile(r"\((?P<codes>[A-Z][0-9][0-9A-Z](?:-[A-Z][0-9][0-9A-Z])?)\)\s*\Z")


# after the definition of the seventh characters: to which sixth characters some of them do not apply
_NOT_APPLIED = re.compile(r"7th characters (?P<seventh>.+?) do not apply .*? with 6th character (?P<sixth>.+)")
_CHARACTER = re.compile(r"\b[0-9A-Z]\b")
_FIRST, _BASE = 3, 6  # characters before the point, and before the seventh character; "X" fills a shorter code


class _SeventhCharacters(NamedTuple):
    """The seventh characters of the codes in a category, with their text.

    Attributes:
        excluded: Pairs of a sixth and a seventh character that do not occur together.
    """

    texts: Mapping[str, str]
    excluded: frozenset[tuple[str, str]] = frozenset()

    def of_code(self, code: str) -> Iterator[tuple[str, str]]:
        """Yield the codes that are made of a code, and the text of their seventh character."""
        base = code.replace(".", "").ljust(_BASE, "X")
        for character, text in self.texts.items() if len(base) == _BASE else ():
            if (base[-1], character) not in self.excluded:
                yield f"{base[:_FIRST]}.{base[_FIRST:]}{character}", text


class _TabularCode(NamedTuple):
    """What the tabular list has of a chapter, section or code."""

    line: int
    types: tuple[str, ...]
    seventh: _SeventhCharacters | None


def read_icd10cm(context: ReaderContext) -> Iterator[Record]:
    """Read the chapters, sections and codes, also those with a seventh character.

    The id of a chapter or section is its range of codes: `ICD10CM:A00-B99`. These two have the types "chapter" and
    "section". Inclusion terms and what a code includes are names; excludes notes are not. They have the scope "narrow"
    where they are narrower than the code. `complete_names` adds names without neutral words. A code with a seventh
    character has the name of its code and the text of the character.
    """
    context = replace(context, id_prefix=context.id_prefix or "ICD10CM")
    codes, rows = dict[str, Code](), dict[str, _TabularCode]()
    for _, chapter in ElementParser(context.path, "icd10cm", ["ICD10CM.tabular", "chapter"]).elements(context.chunks()):
        _add_chapter(context, chapter, codes, rows)
    complete_names(codes, context.report.names_dropped)
    for number, (line, types, seventh) in rows.items():
        code = codes[number]
        above = [f"{context.id_prefix}:{code.parent}"] if code.parent else []
        concept_id = f"{context.id_prefix}:{number}"
        yield from context.record(line, concept_id, code.names, types=types, parents=above)
        for whole, text in seventh.of_code(number) if seventh else ():
            context.report.notes["codes with a seventh character"] += 1
            names = [(f"{code.title}, {text}", "preferred")]
            yield from context.record(line, f"{context.id_prefix}:{whole}", names, parents=[concept_id])


def _add_chapter(
    context: ReaderContext, chapter: LocatedElement, codes: dict[str, Code], rows: dict[str, _TabularCode]
) -> None:
    """Add a chapter and what it contains, in the order of the file."""
    todo: list[tuple[LocatedElement, str | None, _SeventhCharacters | None]] = [(chapter, None, None)]
    while todo:
        element, parent, seventh = todo.pop()
        context.report.rows_read += 1
        seventh = _seventh_characters(element) or seventh
        inner = [cast(LocatedElement, child) for child in element if child.tag in ("section", "diag")]
        is_code, title = element.tag == "diag", " ".join(element.findtext("desc", "").split())
        number, title = _number_and_title(element, title)
        if not title:
            context.drop_broken(element.line, f"<{element.tag}> {number} has no description")
        elif not number:
            context.drop_broken(element.line, "no id")
        else:
            has_seventh = seventh if is_code and not inner else None
            rows.setdefault(number, _TabularCode(element.line, () if is_code else (element.tag,), has_seventh))
            names = [(title, "preferred"), *_terms(element, title)]
            codes.setdefault(number, Code([], parent, is_code)).names.extend(names)
            parent = number
        # what a broken element contains belongs to its parent
        todo += [(child, parent, seventh) for child in reversed(inner)]


def _number_and_title(element: LocatedElement, title: str) -> tuple[str, str]:
    """Return the code of an element, which is a range for chapters and sections, and its title without a range."""
    number = " ".join(element.findtext("name", "").split())
    if element.tag == "diag":
        return number, title
    covered = _RANGE.search(title)
    number = element.get("id") or (covered["codes"] if covered else f"chapter {number}" if number else "")
    # one code becomes a range, as its category has the same code
    return f"{number}-{number}" if number.isalnum() else number, title[: covered.start()].strip() if covered else title


def _terms(element: LocatedElement, title: str) -> Iterator[NameParts]:
    """Yield the inclusion terms, and what a code includes, except for references to codes and lists."""
    scope = "narrow" if is_residual(title) else "exact"
    yield from ((note.text or "", scope) for note in element.iterfind("inclusionTerm/note"))
    for note in element.iterfind("includes/note") if element.tag == "diag" else ():
        if not re.search(r":|\bclassifiable\b|\bcodes?\b|\bconditions?\b", note.text or ""):
            yield note.text or "", "narrow"


def _seventh_characters(element: LocatedElement) -> _SeventhCharacters | None:
    texts = {
        character: " ".join((extension.text or "").split())
        for extension in element.iterfind("sevenChrDef/extension")
        if (character := extension.get("char", "")) and extension.text
    }
    if not texts:
        return None
    notes = (_NOT_APPLIED.search(note.text or "") for note in element.iterfind("*/note"))
    pairs = [product(*(_CHARACTER.findall(note[group]) for group in ("sixth", "seventh"))) for note in notes if note]
    return _SeventhCharacters(texts, frozenset(chain.from_iterable(pairs)))


# --- MedDRA

_LEVELS = ("pt", "hlt", "hlgt", "soc")
# llt.asc: llt_code, llt_name, pt_code, …, llt_currency is the tenth; mdhier.asc begins with the codes of a PT's parents
_CURRENCY = 9


class _LowestLevelTerm(NamedTuple):
    """A row of llt.asc."""

    line: int
    code: str
    name: str
    is_current: bool


def read_meddra(context: ReaderContext, *, non_current: bool = False) -> Iterator[Record]:
    """Read a folder of MedDRA files. The path may also be a file in that folder. Types are PT, HLT, HLGT and SOC.

    Args:
        non_current: Also read the names of LLTs that are not current. Otherwise, they are counted and skipped.
    """
    context = replace(context, id_prefix=context.id_prefix or "MEDDRA")
    lowest: defaultdict[str, list[_LowestLevelTerm]] = defaultdict(list)  # by the code of their preferred term
    for line, cells in _rows(_file_context(context, "llt.asc"), n_cells=_CURRENCY + 1):
        lowest[cells[2]].append(_LowestLevelTerm(line, cells[0], cells[1], cells[_CURRENCY].strip() != "N"))
    parents: defaultdict[tuple[str, str], dict[str, None]] = defaultdict(dict)  # by level and code of a term
    for _, cells in _rows(_file_context(context, "mdhier.asc"), n_cells=len(_LEVELS)):
        for level, code, parent in zip(_LEVELS, cells, cells[1 : len(_LEVELS)], strict=False):
            parents[level, code][parent] = None
    for level in _LEVELS:
        level_context = _file_context(context, f"{level}.asc")
        for line, text in level_context.filled_lines():
            cells = text.split("$")
            context.report.rows_read += 1
            if len(cells) < 2:
                level_context.drop_broken(line, "no $ between code and name")
                continue
            terms = lowest.pop(cells[0], []) if level == "pt" else []
            yield from level_context.record(
                line,
                cells[0],
                [(cells[1], "preferred"), *_synonyms(context, terms, cells[0], non_current)],
                alternative_ids=[term.code for term in terms],
                types=[level.upper()],
                parents=parents.get((level, cells[0]), ()),
            )
    for code, terms in lowest.items():
        for term in terms:
            _file_context(context, "llt.asc").broken(term.line, f"there is no PT {code}")
    paths = [_file_context(context, f"{name}.asc").path for name in ("llt", *_LEVELS, "mdhier")]
    context.report.origins[context.path] = {"files": list(map(file_manifest, paths))}


def _synonyms(
    context: ReaderContext, terms: list[_LowestLevelTerm], code: str, non_current: bool
) -> Iterator[tuple[str, str]]:
    for term in terms:
        # every PT is also an LLT with the same code
        if term.code == code:
            continue
        if term.is_current or non_current:
            yield term.name, "exact"
        else:
            context.report.names_dropped["not current"] += 1


def _file_context(context: ReaderContext, name: str) -> ReaderContext:
    """Return the context for one file of the folder. Its name may be in capitals."""
    folder = context.path if context.path.is_dir() else context.path.parent
    paths = folder / name, folder / name.upper()
    return replace(context, path=next((path for path in paths if path.exists()), paths[0]))


def _rows(context: ReaderContext, n_cells: int) -> Iterator[tuple[int, list[str]]]:
    """Yield line and cells of each row with so many cells. The others are reported."""
    for line, text in context.filled_lines():
        cells = text.split("$")
        if len(cells) >= n_cells:
            yield line, cells
        else:
            context.broken(line, f"{len(cells)} cells instead of {n_cells}")
