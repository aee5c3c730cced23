"""MetaMapLite's output (MMI, JSON, BRAT), as the highest-ranked concept of each span."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..corpora.source import BrokenRecord, Source
from ..files import check_writable, parse_float, parse_int, parse_json
from ..kb.ids import canonical_id
from .annotations import Annotation
from .documents import fold


class RankedAnnotation(NamedTuple):
    """A concept that MetaMapLite proposes for a span.

    Attributes:
        start: in UTF-16 code units, as Java counts.
        length: in UTF-16 code units, as Java counts.
        score: more is better; 0 where the format has none.
        preferred: the concept's preferred name in the UMLS.
        name: the name that was recognised, empty where the format does not tell.
    """

    start: int
    length: int
    concept_id: str
    score: float = 0.0
    preferred: str = ""
    name: str = ""


# id|MMI|score|preferred name|CUI|[types]|triggers|location|positions|tree codes| ; older versions have no location.
# Names and triggers may hold a "|": the CUI is looked for from the start, the positions from the end.
_MMI_CUI = re.compile(r"C\d{7}")
_MMI_TYPES = re.compile(r"\[[^]]*\]")
_MMI_POSITIONS = re.compile(r"\[?\d+/\d[\d/,;\[\]]*")
_TRIGGER = re.compile(r'"(?P<name>[^"]*)"-[^"-]*-\d+-"[^"]*"-[^",]*-[01](?:,|$|\|)')
_PIECE = re.compile(r"(?<!\d)(\d+)/(\d+)")
_BRAT_SPAN = re.compile(r"(T\d+)\t\S+ (\d+) (\d+)(?:;\d+ (\d+))*\t.*")
_BRAT_CONCEPT = re.compile(r"N\d+\tReference (T\d+) (\w+):(\S*)\t(.*)")


def read_mmi(source: Source) -> Iterator[RankedAnnotation]:
    """Read the fielded MMI format; a line is a concept with all its places.

    A mention in several pieces is taken from the first to the last.

    Yields:
        in the order of the file, which is that of the scores. Broken lines are reported.

    Raises:
        SapbertError: E12x the file cannot be read, E201 a broken line in strict reading.
    """
    for number, line in source.lines():
        if not line.strip():
            continue
        try:
            found = _mmi(line.strip().split("|"))
            score = _number(found.score)
            places = [_whole(place) for place in found.positions.split(";") if _PIECE.search(place)]
        except BrokenRecord as reason:
            source.broken(number, reason)
            continue
        names = [trigger["name"] for trigger in _TRIGGER.finditer(found.triggers)]
        if len(names) != len(places):
            names = [""] * len(places)
        for (start, length), name in zip(places, names, strict=True):
            yield RankedAnnotation(start, length, canonical_id(found.cui), score, found.preferred, name)


class _Mmi(NamedTuple):
    """What is read of a line of the fielded MMI format. triggers: perhaps with the location after them."""

    score: str
    preferred: str
    cui: str
    triggers: str
    positions: str


def _mmi(cells: list[str]) -> _Mmi:
    """
    Args:
        cells: what stands between the bars.

    Raises:
        BrokenRecord: the line is of another form.
    """
    last = _place_of_positions(cells)
    for cui in range(4, last - 2):
        if _MMI_CUI.fullmatch(cells[cui]) and _MMI_TYPES.fullmatch(cells[cui + 1]) and cells[1] == "MMI":
            triggers = "|".join(cells[cui + 2 : last])
            return _Mmi(cells[2], "|".join(cells[3:cui]), cells[cui], triggers, cells[last])
    raise BrokenRecord("not a line of MetaMapLite's MMI format")


def _place_of_positions(cells: list[str]) -> int:
    """Return the cell before that of the tree codes, which a last bar may follow; 0 where there is none."""
    for last in (len(cells) - 2, len(cells) - 3):
        tree_codes, *rest = cells[last + 1 :] if last > 0 else ["/"]
        if "/" not in tree_codes and not any(rest) and _MMI_POSITIONS.fullmatch(cells[last]):
            return last
    return 0


def _number(raw: str) -> float:
    try:
        return parse_float(raw.replace(",", "."))  # Java writes numbers as its locale has them
    except ValueError:
        raise BrokenRecord(f"{raw!r} is not a score") from None


def _integer(raw: str) -> int:
    try:
        return parse_int(raw)
    except ValueError:
        raise BrokenRecord("an offset is not a whole number of at most 18 digits") from None


def _whole(place: str) -> tuple[int, int]:
    pieces = [(_integer(start), _integer(length)) for start, length in _PIECE.findall(place)]
    first, last = min(start for start, _ in pieces), max(start + length for start, length in pieces)
    return first, last - first


def read_json(source: Source) -> Iterator[RankedAnnotation]:
    """Read the JSON format: a list of spans with their concepts. Broken entries are reported under line 1.

    Yields:
        in the order of the file.

    Raises:
        SapbertError: as `read_mmi`.
    """
    text = "\n".join(line for _, line in source.lines())
    try:
        entities = parse_json(text)
        check_writable(entities)
        if not isinstance(entities, list):
            raise ValueError("it is no list")
    except ValueError as error:
        source.broken(1, f"not JSON from MetaMapLite ({error})")
        return
    for number, entity in enumerate(entities, start=1):
        try:
            yield from [_evidence(item) for item in entity["evlist"]]
        except (KeyError, TypeError, ValueError) as error:
            source.broken(1, f"entity {number} is not as MetaMapLite writes it ({type(error).__name__}: {error})")


def _evidence(item: dict[str, Any]) -> RankedAnnotation:
    info = item["conceptinfo"]
    start, length, score = item["start"], item["length"], item.get("score", 0)
    texts = [info["cui"], info.get("preferredname", ""), info.get("conceptstring", "")]
    if not (type(start) is type(length) is int and all(isinstance(text, str) for text in texts)):
        raise TypeError("a value of another type")
    return RankedAnnotation(start, length, canonical_id(texts[0]), parse_float(str(score)), *texts[1:])


def read_brat(source: Source) -> Iterator[RankedAnnotation]:
    """Read BRAT's standoff format; several concepts of a span have no ranks there.

    Yields:
        in the order of the file.

    Raises:
        SapbertError: as `read_mmi`.
    """
    spans: dict[str, tuple[int, int]] = {}
    scores: dict[str, float] = {}
    found: list[tuple[str, str, str]] = []
    for number, line in source.lines():
        span, concept = _BRAT_SPAN.fullmatch(line), _BRAT_CONCEPT.fullmatch(line)
        try:
            if span:
                start = _integer(span[2])
                spans[span[1]] = start, _integer(span[4] or span[3]) - start
            elif concept and concept[1] not in spans:
                raise BrokenRecord(f"there is no {concept[1]} before this line")
            elif concept and concept[2] == "ConceptId":
                found.append((concept[1], concept[3], concept[4]))
            elif concept and concept[2] == "Score":
                scores[concept[1]] = _number(concept[3])
            elif line.strip() and not concept:
                raise BrokenRecord("neither a span nor a reference of BRAT's standoff format")
        except BrokenRecord as reason:
            source.broken(number, reason)
    for key, cui, preferred in found:
        yield RankedAnnotation(*spans[key], canonical_id(cui), scores.get(key, 0.0), preferred)


READERS: dict[str, Callable[[Source], Iterator[RankedAnnotation]]] = {
    ".mmi": read_mmi,
    ".json": read_json,
    ".ann": read_brat,
    ".brat": read_brat,
}


def read_output(path: Path, text: str, source: Source | None = None) -> list[Annotation]:
    """Read what MetaMapLite found in a text.

    Args:
        path: its suffix shows the format: `.mmi`, `.json`, `.ann` or `.brat`.
        source: takes what is broken; spans outside the text are.

    Returns:
        the highest-ranked concept of each span.
    """
    source = source or Source(path)
    found, units = [], _characters(text)
    for ranked in READERS[path.suffix](source):
        if ranked.length > 0 and ranked.start >= 0 and ranked.start + ranked.length < len(units):
            found.append(ranked)
        else:
            source.broken(1, f"{ranked.start}/{ranked.length} is outside the text of {len(text)} characters")
    return [
        Annotation(units[best.start], units[best.start + best.length], (best.concept_id,), best.name)
        for best in _best(found, text, units)
    ]


def _best(found: Iterable[RankedAnnotation], text: str, units: list[int]) -> list[RankedAnnotation]:
    """Return `list[RankedAnnotation]`: of each span the concept with the highest score; then one whose name is
    preferred.
    """
    best: dict[tuple[int, int], tuple[tuple[float, bool], RankedAnnotation]] = {}
    for ranked in found:
        words = text[units[ranked.start] : units[ranked.start + ranked.length]]
        key = -ranked.score, fold(ranked.preferred) != fold(words)
        place = ranked[:2]
        if place not in best or key < best[place][0]:
            best[place] = key, ranked
    return [ranked for _, (_, ranked) in sorted(best.items())]


def _characters(text: str) -> list[int]:
    """Return `list[int]`: for each UTF-16 code unit the character in which it lies, and the end."""
    if text.isascii() or max(text) <= "\uffff":
        return list(range(len(text) + 1))
    units = [index for index, letter in enumerate(text) for _ in range(1 + (letter > "\uffff"))]
    return [*units, len(text)]
