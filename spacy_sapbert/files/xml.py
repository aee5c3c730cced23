"""Read the elements of an XML file as a stream, and refuse entities and DTDs that could expand without bound."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from ..errors import Errors, SapbertError
from .bounds import check_length

_BORDER = "\0"  # which XML cannot contain


class LocatedElement(Element):
    """An element with its place in the file.

    Attributes:
        line: The line at which it starts.
    """

    line = 0


class _Found(Exception):
    """The root element is found, so parsing ends."""


def root_tag(beginning: bytes) -> str:
    """Return the tag of the root element, or the one that the DTD names. Nothing is expanded.

    Args:
        beginning: The first bytes of the file.

    Returns:
        The tag; empty if the bytes are not XML, or end before the root.
    """
    found: list[str] = []

    def start(tag: str, *_: object) -> None:
        found.append(tag)
        raise _Found

    def doctype(name: str, system_id: str | None, public_id: str | None, has_internal_subset: bool) -> None:
        if has_internal_subset:
            start(name)

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = doctype
    with suppress(_Found, expat.ExpatError, LookupError, ValueError):  # reading the file reports what is wrong with it
        parser.Parse(beginning, False)
    return next(iter(found), "")


def blocks_of(root: Element, apart: Collection[str], left_out: Callable[[Element], bool]) -> list[str]:
    """Return the text below an element without its markup.

    Any white space in it becomes one blank. No text is lost between elements: `a<i>b</i>c` is "abc".

    Args:
        root: The element. Its own tail does not count.
        apart: The tags of elements that stand apart, such as paragraphs. Each begins and ends a block.
        left_out: Returns whether an element is left out.

    Returns:
        The texts of the blocks that are not empty.
    """
    pieces: list[str] = []
    # elements to visit, and texts after them: deep elements need no deep calls
    stack: list[Element | str] = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            pieces.append(item)
            continue
        if item is not root and item.tail:
            stack.append(item.tail)
        if left_out(item):
            continue
        border = _BORDER if item.tag in apart else ""
        pieces += (border, item.text or "")
        stack.append(border)
        stack.extend(reversed(item))
    blocks = (" ".join(block.split()) for block in "".join(pieces).split(_BORDER))
    return [block for block in blocks if block]


class ElementParser:
    """Splits XML into elements, with the line at which each starts, which iterparse does not report.

    Args:
        path: The file, for error messages.
        format: Name of the expected format, for error messages.
        tags: Path of the elements: the tag of the root, then the tags of the levels below it. The last one can be
            several, joined by `|`, as in XPath.
        without: Tags of parts of the elements that are not needed, which saves much time.
    """

    def __init__(self, path: Path, format: str, tags: Sequence[str], without: Collection[str] = ()) -> None:
        self._path = path
        self._format = format
        self._root = tags[0]
        self._level = len(tags) - 1
        self._wanted = frozenset(tags[-1].split("|"))
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.SkippedEntityHandler = self._entity
        self._without = frozenset(without)
        self._depth = 0
        self._skipped = 0  # the depth in a part that is not needed
        self._line = 0
        self._tree: TreeBuilder | None = None
        self._ready: list[tuple[int, LocatedElement]] = []

    def elements(self, chunks: Iterable[bytes]) -> Iterator[tuple[int, LocatedElement]]:
        """Parse the file.

        Args:
            chunks: The bytes of the file. The last chunk is empty.

        Yields:
            Line and content of each element, including those just before an error.

        Raises:
            SapbertError: E205 if the XML is malformed; E206 if the file contains a DTD or an unknown entity; E207 if it
                has another root; E588 if an element is too long.
        """
        held = 0  # bytes since the end of an element; they are held in memory
        for chunk in chunks:
            held += len(chunk)
            check_length(self._path, held)
            error = None
            try:
                self._parser.Parse(chunk, not chunk)
            except expat.ExpatError as caught:
                error = caught
            except SapbertError:
                raise
            except (LookupError, ValueError) as caught:
                reason = f"the encoding that it names cannot be read ({caught}), but UTF-8 can"
                line = self._parser.CurrentLineNumber
                raise SapbertError(Errors.E205.format(path=self._path, line=line, reason=reason)) from caught
            held = 0 if self._ready else held
            yield from self._ready
            self._ready.clear()
            if error:
                reason = expat.errors.messages[error.code]
                raise SapbertError(Errors.E205.format(path=self._path, line=error.lineno, reason=reason)) from error

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._depth == 0 and tag != self._root:
            found = {"path": self._path, "format": self._format, "root": tag, "wanted": self._root}
            raise SapbertError(Errors.E207.format(**found))
        if self._depth == self._level and tag in self._wanted:
            self._line = self._parser.CurrentLineNumber
            self._tree = TreeBuilder(element_factory=self._element)
            self._parser.CharacterDataHandler = self._tree.data
        elif self._tree and tag in self._without:
            self._skip(tag, attributes)
            return
        self._depth += 1
        if self._tree:
            self._tree.start(tag, attributes)

    def _skip(self, tag: str, attributes: dict[str, str]) -> None:
        if not self._skipped:
            self._parser.StartElementHandler = self._skip
            self._parser.EndElementHandler = self._end_skipped
            self._parser.CharacterDataHandler = None
        self._skipped += 1

    def _end_skipped(self, tag: str) -> None:
        self._skipped -= 1
        if self._tree and not self._skipped:
            self._parser.StartElementHandler = self._start
            self._parser.EndElementHandler = self._end
            self._parser.CharacterDataHandler = self._tree.data

    def _element(self, tag: str, attributes: dict[str, str]) -> LocatedElement:
        element = LocatedElement(tag, attributes)
        element.line = self._parser.CurrentLineNumber
        return element

    def _end(self, tag: str) -> None:
        self._depth -= 1
        if not self._tree:
            return
        self._tree.end(tag)
        if self._depth == self._level:
            self._ready.append((self._line, cast(LocatedElement, self._tree.close())))
            self._tree = None
            self._parser.CharacterDataHandler = None

    def _doctype(self, name: str, system_id: str | None, public_id: str | None, has_internal_subset: bool) -> None:
        if has_internal_subset:
            self._refuse("a DTD inside the file")

    def _entity(self, name: str, is_parameter_entity: bool) -> None:
        self._refuse(f"the entity &{name};")

    def _refuse(self, what: str) -> None:
        line = self._parser.CurrentLineNumber
        raise SapbertError(Errors.E206.format(path=self._path, line=line, what=what))
