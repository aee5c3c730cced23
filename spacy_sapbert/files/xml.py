"""Read the elements of an XML file as a stream, and refuse entities and DTDs that could expand without bound."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from ..errors import BadRecordError, Errors, LimitError, OtherFormatError, SapbertError
from .opening import check_length

DEEPEST = 1000
"""The most levels of elements."""
_BORDER = "\0"  # which XML cannot contain
_CORRECT = "Correct the file, or download it again."


class LocatedElement(Element):
    """An element with its place in the file.

    Attributes:
        line: The line at which it starts.
    """

    line = 0


class RootFound(Exception):
    """The root element is found, so parsing ends."""


def malformed_xml(path: Path, error: expat.ExpatError) -> BadRecordError:
    """Return the error for a file that is not well-formed."""
    reason = f"this is not well-formed XML ({expat.errors.messages[error.code]})"
    return BadRecordError(path=path, line=error.lineno, reason=reason, remedy=_CORRECT)


def root_tag(beginning: bytes) -> str:
    """Return the tag of the root element, or the one that the DTD names. Nothing is expanded.

    Args:
        beginning: The first bytes of the file.

    Returns:
        The tag; empty if the bytes are not XML, or end before the root.
    """
    root = ""

    def start(tag: str, *_: object) -> None:
        nonlocal root
        root = tag
        raise RootFound

    def doctype(name: str, system_id: str | None, public_id: str | None, has_internal_subset: bool) -> None:
        if has_internal_subset:
            start(name)

    parser = expat.ParserCreate()
    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = doctype
    # reading the file reports what is wrong with it
    with suppress(RootFound, expat.ExpatError, LookupError, ValueError):
        parser.Parse(beginning, False)
    return root


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
        self._tags = frozenset(tags[-1].split("|"))
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.SkippedEntityHandler = lambda name, _: self._refuse(f"the entity &{name};")
        self._without = frozenset(without)
        self._depth = 0
        self._skipped = 0  # the depth in a part that is not needed
        self._tree: TreeBuilder | None = None
        self._ready: list[LocatedElement] = []

    def elements(self, chunks: Iterable[bytes]) -> Iterator[tuple[int, LocatedElement]]:
        """Parse the file.

        Args:
            chunks: The bytes of the file. The last chunk is empty.

        Yields:
            Line and content of each element, including those just before an error.
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
                line = self._parser.CurrentLineNumber
                reason = f"the encoding that it names cannot be read ({caught}), but UTF-8 can"
                raise BadRecordError(path=self._path, line=line, reason=reason, remedy=_CORRECT) from caught
            held = 0 if self._ready else held
            yield from ((element.line, element) for element in self._ready)
            self._ready.clear()
            if error:
                raise malformed_xml(self._path, error) from error

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._skipped or (self._tree and tag in self._without):
            self._skipped += 1
            self._parser.CharacterDataHandler = None
            return
        if self._depth == 0 and tag != self._root:
            reason = f"it is not {self._format}: its root element is <{tag}>, not <{self._root}>"
            raise OtherFormatError("Give the format of the file.", path=self._path, reason=reason)
        if self._depth == self._level and tag in self._tags:
            self._tree = TreeBuilder(element_factory=self._element)
            self._parser.CharacterDataHandler = self._tree.data
        self._depth += 1
        if self._depth > DEEPEST:  # each level takes much more memory than its text
            raise LimitError(path=self._path, reason=f"has more than {DEEPEST:,} levels of elements")
        if self._tree:
            self._tree.start(tag, attributes)

    def _element(self, tag: str, attributes: dict[str, str]) -> LocatedElement:
        element = LocatedElement(tag, attributes)
        element.line = self._parser.CurrentLineNumber
        return element

    def _end(self, tag: str) -> None:
        if self._skipped:
            self._skipped -= 1
            if self._tree and not self._skipped:
                self._parser.CharacterDataHandler = self._tree.data
            return
        self._depth -= 1
        if not self._tree:
            return
        self._tree.end(tag)
        if self._depth == self._level:
            self._ready.append(cast(LocatedElement, self._tree.close()))
            self._tree = None
            self._parser.CharacterDataHandler = None

    def _doctype(self, name: str, system_id: str | None, public_id: str | None, has_internal_subset: bool) -> None:
        if has_internal_subset:
            self._refuse("a DTD inside the file")

    def _refuse(self, what: str) -> None:
        line = self._parser.CurrentLineNumber
        raise SapbertError(Errors.E206.format(path=self._path, line=line, what=what))
