"""The extension attributes of all components: msgpack data in `doc.user_data`, converted to objects on access.

scispaCy registers `abbreviations`, `long_form` and `kb_ents` with `force=True`, as plain defaults. Components therefore
call `register` whenever they write. Our getters and setters also accept the values of scispaCy's components.
"""

from bisect import bisect_left, bisect_right
from operator import itemgetter
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from spacy.tokens import Doc, Span

from ..text.abbreviations import AbbreviationOccurrence
from ..text.notes.sections import Section
from ..types import Alternative, DocumentConcept, Link

# the fields of a link before its other candidates, which are lists in an entry
_PLAIN_FIELDS = Link._fields.index("runner_up")
_REASONS = _PLAIN_FIELDS + 2
_ABBREVIATIONS: Any = ("._.", "abbreviations", None, None)


def register() -> None:
    """Register the attributes. They replace those of another plugin."""
    extensions: Dict[Any, Dict[str, Tuple[Any, Any]]] = {
        Doc: {
            "abbreviations": (get_abbreviations, set_abbreviations),
            "concepts": (get_concepts, set_concepts),
            "sections": (get_sections, set_sections),
        },
        Span: {
            "long_form": (get_long_form, set_long_form),
            "matched_name": (get_matched_name, set_matched_name),
            "assertion": (get_assertion, set_assertion),
            "composite_splits": (get_composite_splits, set_composite_splits),
            "corrections": (get_corrections, set_corrections),
            "kb_ents": (get_kb_ents, set_kb_ents),
            "links": (get_links, set_links),
            "section": (get_section, None),
        },
    }
    for owner, attributes in extensions.items():
        for name, (getter, setter) in attributes.items():
            if not owner.has_extension(name) or owner.get_extension(name)[2] is not getter:
                owner.set_extension(name, getter=getter, setter=setter, force=True)


# --- abbreviations: one entry per occurrence, [short start, short end, long form, long start, long end, names]


def set_abbreviation_occurrences(doc: Doc, occurrences: Iterable[AbbreviationOccurrence]) -> None:
    """Store the abbreviation occurrences of a document. They replace earlier ones.

    Args:
        doc: The document.
        occurrences: The character offsets of each short form, and its long form, with offsets if it is in the text.
    """
    # names are rare, and version 1.0.0 reads entries without them
    entries = [[*occurrence, list(names)] if names else list(occurrence) for *occurrence, names in occurrences]
    doc.user_data[_ABBREVIATIONS] = sorted(entries, key=_position)


def has_abbreviations(doc: Doc) -> bool:
    """Return whether a component has found abbreviations."""
    return bool(doc.user_data.get(_ABBREVIATIONS))


def get_abbreviation_occurrences(doc: Doc, *, unclear: bool = False) -> List[AbbreviationOccurrence]:
    """Return the abbreviation occurrences of a document, by position.

    Args:
        doc: The document.
        unclear: Return the short forms whose sense the text leaves open, instead of those with a long form.
    """
    return [occurrence for occurrence in _occurrences(doc) if unclear is not bool(occurrence.long)]


def _occurrences(doc: Doc) -> List[AbbreviationOccurrence]:
    return [AbbreviationOccurrence(*entry[:5], *map(tuple, entry[5:])) for entry in _entries(doc)]


def _entries(doc: Doc) -> List[List[Any]]:
    """Return our entries, or those that scispaCy's detector wrote with its own attributes."""
    entries: List[Any] = doc.user_data.get(_ABBREVIATIONS, [])
    if entries and not isinstance(entries[-1], list):
        entries = sorted((_entry(doc, entry) for entry in entries), key=_position)
    return entries


def _entry(doc: Doc, entry: Any) -> List[Any]:
    if isinstance(entry, Span):
        return _make_entry(entry, doc.user_data[_key("long_form", entry)])
    if isinstance(entry, dict):  # with `make_serializable`
        short, long = (doc[entry[f"{form}_start"] : entry[f"{form}_end"]] for form in ("short", "long"))
        return _make_entry(short, long)
    return list(entry)


def _make_entry(short: Span, long: Union[Span, str]) -> List[Any]:
    return [*_bounds(short), str(long), *(_bounds(long) if isinstance(long, Span) else (None, None))]


def _position(entry: List[Any]) -> List[Any]:
    return entry[:2]


def get_abbreviations(doc: Doc) -> List[Span]:
    """Return the spans of the short forms."""
    return [_short_form(doc, occurrence) for occurrence in get_abbreviation_occurrences(doc)]


def set_abbreviations(doc: Doc, spans: Sequence[Any]) -> None:
    """Remove the occurrences that are not among the spans. scispaCy's components set the long forms beforehand.

    `Doc.from_json` gives what `Doc.to_json` took: short forms of another document, or what they became in a file.
    """
    others = [span.toDict() for span in spans if isinstance(span, ShortForm) and span.doc is not doc]
    others = others or [entry for entry in spans if isinstance(entry, dict) and "long" in entry]
    kept = {(span.start_char, span.end_char) for span in spans if isinstance(span, Span)}
    if others:
        set_abbreviation_occurrences(doc, [AbbreviationOccurrence(**entry) for entry in others])
    elif len(kept) == len(spans):
        set_abbreviation_occurrences(
            doc,
            [
                occurrence
                for occurrence in _occurrences(doc)
                if not (occurrence.long and kept.isdisjoint(_both_bounds(doc, occurrence)))
            ],
        )


def get_long_form(span: Span) -> Union[Span, str, None]:
    """Return the long form of a short form. It is a string if the text does not contain it."""
    start, end = _bounds(span)
    entries = _entries(span.doc)
    for entry in entries[bisect_left(entries, [start]) : bisect_left(entries, [end])]:
        occurrence = AbbreviationOccurrence(*entry)
        if occurrence.long and (start, end) in _both_bounds(span.doc, occurrence):
            if occurrence.long_start is None or occurrence.long_end is None:
                return occurrence.long
            return _exact_span(span.doc, occurrence.long_start, occurrence.long_end)
    return None


def set_long_form(span: Span, long_form: Union[Span, str, None]) -> None:
    """Add, replace or remove (None) the long form of a short form."""
    doc = span.doc
    occurrences = [occurrence for occurrence in _occurrences(doc) if _bounds(span) not in _both_bounds(doc, occurrence)]
    set_abbreviation_occurrences(
        doc, occurrences if long_form is None else [*occurrences, AbbreviationOccurrence(*_make_entry(span, long_form))]
    )


# --- what the text of a mention decides: composite splits, corrections, flags


def get_composite_splits(span: Span) -> List[Tuple[str, ...]]:
    """Return the composite splits of a mention, the most plausible first."""
    return list(map(tuple, _get(span, "composite_splits")))


def set_composite_splits(span: Span, composite_splits: Iterable[Sequence[str]]) -> None:
    """Set the composite splits of a mention."""
    _set(span, "composite_splits", list(map(list, composite_splits)))


def get_corrections(span: Span) -> Dict[str, str]:
    """Return the variants of the mention that seem misspelled, each with its correction."""
    return dict(_get(span, "corrections"))


def set_corrections(span: Span, corrections: Mapping[str, str]) -> None:
    """Set the spelling corrections of a mention."""
    _set(span, "corrections", list(map(list, dict(corrections).items())))


def get_assertion(span: Span) -> Tuple[str, ...]:
    """Return the flags of a mention, such as "negated". Empty if it has none, or if nothing has looked for them."""
    return tuple(_get(span, "assertion"))


def set_assertion(span: Span, flags: Iterable[str]) -> None:
    """Set the flags of a mention."""
    _set(span, "assertion", list(flags))


# --- sections of a note: an entry [label, heading start, start, end] for each


def has_sections(doc: Doc) -> bool:
    """Return whether a component has looked for sections."""
    return _key("sections") in doc.user_data


def get_sections(doc: Doc) -> List[Section]:
    """Return the sections of a note, in order."""
    return list(map(Section._make, doc.user_data.get(_key("sections"), [])))


def set_sections(doc: Doc, sections: Iterable[Section]) -> None:
    """Set the sections of a note."""
    doc.user_data[_key("sections")] = list(map(list, sections))


def get_section(span: Span) -> Optional[str]:
    """Return the label of the section in which a mention begins, such as "family history"."""
    entries = span.doc.user_data.get(_key("sections"), [])
    number = bisect_right(entries, span.start_char, key=itemgetter(1)) - 1
    return entries[number][0] if number >= 0 else None


# --- what also depends on the label: matched names, candidates and links, an entry {label: {id of the concept: value}}


def get_matched_name(span: Span) -> Optional[str]:
    """Return the name of the vocabulary that the `concept_matcher` found here."""
    name: Optional[str] = _get_linked(span, "matched_name", None)
    return name


def set_matched_name(span: Span, name: str) -> None:
    """Set the name of the vocabulary that was found here."""
    _set_linked(span, "matched_name", name)


def get_other_words(span: Span) -> Dict[str, Tuple[str, float, str]]:
    """Return the texts that say a name in other words: the name, the score, and which words are equal."""
    entries = _get_linked(span, "other_words", [])
    return {text: (name, score, reason) for text, name, score, reason in entries} if entries else {}


def set_other_words(span: Span, other_words: Mapping[str, Tuple[str, float, str]]) -> None:
    """Set the texts that say a name in other words: the mention, or the parts of a composite."""
    _set_linked(span, "other_words", [[text, *evidence] for text, evidence in other_words.items()])


def get_kb_ents(span: Span) -> List[Tuple[str, float]]:
    """Return concept ids with scores, best first."""
    return [(concept_id, score) for concept_id, score in _get_linked(span, "kb_ents", [])]


def set_kb_ents(span: Span, kb_ents: Iterable[Tuple[str, float]]) -> None:
    """Set the concept ids with scores."""
    entries = kb_ents if isinstance(kb_ents, dict) else list(map(list, kb_ents))
    _set_linked(span, "kb_ents", entries)


def get_links(span: Span) -> List[Link]:
    """Return the links of the mention, one per part."""
    assertion = get_assertion(span)
    return [_link(entry)._replace(assertion=assertion) for entry in _get_linked(span, "links", [])]


def set_links(span: Span, links: Iterable[Link]) -> None:
    """Set the links of the mention. Their flags are not kept: `set_assertion` sets those of the mention."""
    _set_linked(span, "links", links if isinstance(links, dict) else list(map(_link_entry, links)))


def _link_entry(link: Link) -> List[Any]:
    runner_up, rejected = link.runner_up and list(link.runner_up), link.rejected and list(link.rejected)
    entry: List[Any] = [*link[:_PLAIN_FIELDS], runner_up, rejected, list(link.reasons)]
    if link.candidates or link.missing is not None:
        entry += [list(map(list, link.candidates)), link.missing]
    return entry


def get_linked_by(span: Span) -> Optional[str]:
    """Return the name of the component that linked the mention, if it is not the usual one."""
    name: Optional[str] = _get_linked(span, "linked_by", None)
    return name


def set_linked_by(span: Span, name: Optional[str]) -> None:
    """Set the name of the component that linked the mention; None if it is the usual one."""
    if name is not None or _key("linked_by", span) in span.doc.user_data:
        _set_linked(span, "linked_by", name)


def _link(entry: Sequence[Any]) -> Link:
    """Return the link of an entry. An entry of an earlier version is shorter."""
    plain, others, reasons = entry[:_PLAIN_FIELDS], entry[_PLAIN_FIELDS:_REASONS], entry[_REASONS : _REASONS + 1]
    link = Link(*plain, *(other and Alternative(*other) for other in others))
    candidates = [Alternative(*candidate) for listed in entry[_REASONS + 1 : _REASONS + 2] for candidate in listed]
    missing = next(iter(entry[_REASONS + 2 :]), None)
    return link._replace(reasons=tuple(*reasons), candidates=tuple(candidates), missing=missing)


# --- concepts of the document: [id, score, name, [[start, end], …], [[signal, contribution], …]]


def get_concepts(doc: Doc) -> List[DocumentConcept]:
    """Return the concepts of the whole document, best first."""
    entries: List[List[Any]] = doc.user_data.get(_key("concepts"), [])
    return [
        DocumentConcept(
            concept_id,
            score,
            name,
            tuple(_span(doc, *place) for place in places),
            tuple((signal, value) for signal, value in contributions),
        )
        for concept_id, score, name, places, contributions in entries
    ]


def set_concepts(doc: Doc, concepts: Iterable[DocumentConcept]) -> None:
    """Set the concepts of the whole document."""
    doc.user_data[_key("concepts")] = [
        [
            concept.concept_id,
            float(concept.score),
            concept.name,
            [list(_bounds(span)) for span in concept.evidence],
            [[signal, float(value)] for signal, value in concept.contributions],
        ]
        for concept in concepts
    ]


def _key(name: str, span: Optional[Span] = None) -> Any:
    # spaCy's own key for extension values, so that code that copies or shifts them also handles ours; as in `_get`
    return ("._.", name, None, None) if span is None else ("._.", name, span.start_char, span.end_char)


def _get(span: Span, name: str) -> List[Any]:
    user_data: Dict[Any, Any] = span.doc.user_data
    return user_data.get(("._.", name, span.start_char, span.end_char), [])


def _set(span: Span, name: str, value: List[Any]) -> None:
    span.doc.user_data[_key(name, span)] = value


def _get_linked(span: Span, name: str, default: Any) -> Any:
    """Return the value for a span with this label and this concept id.

    A span without a label, or with an id that nothing was stored for, gets the value that was stored last. A document
    of version 1.0.0 has one value for all spans of a place, as other plugins have.
    """
    user_data: Dict[Any, Any] = span.doc.user_data
    stored = user_data.get(("._.", name, span.start_char, span.end_char), default)
    if not isinstance(stored, dict):
        return stored
    by_id = (stored.get(span.label_) or stored.get("", {})) if span.label else list(stored.values())[-1]
    return by_id.get(span.kb_id_, list(by_id.values())[-1]) if by_id else default


def _set_linked(span: Span, name: str, value: Any) -> None:
    """Store a value for the spans with the same place, label and concept id as this one.

    A mapping is all that was stored for the place, which `Doc.to_json` writes as it is.
    """
    key: Any = ("._.", name, span.start_char, span.end_char)
    if isinstance(value, dict):
        span.doc.user_data[key] = value
        return
    stored = span.doc.user_data.get(key)
    by_label = dict(stored) if isinstance(stored, dict) else {}
    by_id = dict(by_label.pop(span.label_, {}))
    by_id.pop(span.kb_id_, None)
    span.doc.user_data[key] = {**by_label, span.label_: {**by_id, span.kb_id_: value}}


def _bounds(span: Span) -> Tuple[int, int]:
    return span.start_char, span.end_char


def _span(doc: Doc, start: int, end: int) -> Span:
    span = doc.char_span(start, end, alignment_mode="expand")
    assert span is not None  # offsets inside the text always expand to tokens
    return span


def _both_bounds(doc: Doc, occurrence: AbbreviationOccurrence) -> Tuple[Tuple[int, int], Tuple[int, int]]:
    """Return the offsets of a short form, and those of the tokens that contain it."""
    return (occurrence.start, occurrence.end), _bounds(_span(doc, occurrence.start, occurrence.end))


def _exact_span(doc: Doc, start: int, end: int) -> Span:
    span = _span(doc, start, end)
    if _bounds(span) == (start, end):
        return span
    part = PartOfTokens(doc, span.start, span.end)
    part.characters = start, end
    return part


def _short_form(doc: Doc, occurrence: AbbreviationOccurrence) -> "ShortForm":
    span = _span(doc, *occurrence[:2])
    short_form = ShortForm(doc, span.start, span.end)
    short_form.characters, short_form.occurrence = occurrence[:2], occurrence
    return short_form


class PartOfTokens(Span):
    """A span with exact characters, also where the tokenizer did not split: "CKD" in the token "CKD)1".

    Attributes:
        characters: Those that `text`, `start_char` and `end_char` give. Everything else is that of the tokens.
    """

    characters: Tuple[int, int]

    @property
    def start_char(self) -> int:  # type: ignore[override]
        return self.characters[0]

    @property
    def end_char(self) -> int:  # type: ignore[override]
        return self.characters[1]

    @property
    def text(self) -> str:
        return self.doc.text[slice(*self.characters)]


class ShortForm(PartOfTokens):
    """The span of a short form.

    Attributes:
        occurrence: The occurrence of the short form, which stands in spaCy's JSON.
    """

    occurrence: AbbreviationOccurrence

    def toDict(self) -> Dict[str, Any]:
        """Return the occurrence as data. srsly calls this."""
        return self.occurrence._asdict()
