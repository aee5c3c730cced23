"""The extension attributes of all components: msgpack data in `doc.user_data`, converted to objects on access.

scispaCy registers `abbreviations`, `long_form` and `kb_ents` with `force=True`, as plain defaults. Components therefore
call `register` whenever they write. Our getters and setters also accept the values of scispaCy's components.
"""

from bisect import bisect_left, bisect_right
from functools import partial
from operator import itemgetter
from typing import Any, Callable, Dict, Generic, Iterable, List, Optional, Sequence, Tuple, Type, TypeVar, Union

from spacy.tokens import Doc, Span

from ..text.abbreviations import AbbreviationOccurrence
from ..text.notes.drugs import Drug
from ..text.notes.sections import Section
from ..types import Alternative, DocumentConcept, Link

# the fields of a link before its other candidates, which are lists in an entry
_PLAIN_FIELDS = Link._fields.index("runner_up")
_REASONS = _PLAIN_FIELDS + 2
_ABBREVIATIONS: Any = ("._.", "abbreviations", None, None)

Value = TypeVar("Value")
Part = TypeVar("Part", bound="PartOfTokens")


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
            "drug": (get_drug, set_drug),
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
        key: Any = ("._.", "long_form", *_bounds(entry))
        return _make_entry(entry, doc.user_data[key])
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
    spans: List[Span] = []
    for occurrence in get_abbreviation_occurrences(doc):
        span = ShortForm.at(doc, *occurrence[:2])
        span.occurrence = occurrence
        spans.append(span)
    return spans


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


# --- values of mentions and of documents


class Attribute(Generic[Value]):
    """The attribute of a document, or of a mention whose text decides it: all spans of a place have one value.

    Args:
        name: The name of the attribute.
        read: Makes the value from what is stored.
        write: Makes what is stored from the value.
        empty: What counts as stored as long as nothing is.
    """

    def __init__(
        self, name: str, read: Callable[[Any], Value], write: Callable[[Any], Any] = list, empty: Any = ()
    ) -> None:
        self.name, self.read, self.write, self.empty = name, read, write, empty

    def __reduce__(self) -> str:  # spaCy passes getters and setters to other processes
        return self.name.upper()

    def key(self, owner: Union[Doc, Span]) -> Any:
        """Return spaCy's own key for extension values, so that code that copies or shifts them also handles ours."""
        if isinstance(owner, Doc):
            return ("._.", self.name, None, None)
        return ("._.", self.name, owner.start_char, owner.end_char)

    def get(self, owner: Union[Doc, Span]) -> Value:
        """Return the value of a document or of a mention."""
        user_data: Dict[Any, Any] = owner.doc.user_data
        return self.read(self.pick(user_data.get(self.key(owner), self.empty), owner))

    def set(self, owner: Union[Doc, Span], value: Any) -> None:
        """Set the value of a document or of a mention."""
        key, user_data = self.key(owner), owner.doc.user_data
        user_data[key] = self.join(self.write(value), user_data.get(key), owner)

    def pick(self, stored: Any, owner: Any) -> Any:
        """Return what is stored for a mention among what is stored for its place."""
        return stored

    def join(self, entry: Any, stored: Any, owner: Any) -> Any:
        """Return what is stored for a place, with the entry of a mention."""
        return entry


class LinkedAttribute(Attribute[Value]):
    """An attribute that also depends on the label and on the concept: {label: {id of the concept: entry}} is stored."""

    def pick(self, stored: Any, owner: Span) -> Any:
        """Return the entry for a span with this label and this concept id.

        A span without a label, or with an id that nothing was stored for, gets the entry that was stored last. A
        document of version 1.0.0 has one entry for all spans of a place, as other plugins have.
        """
        if not isinstance(stored, dict):
            return stored
        by_id = (stored.get(owner.label_) or stored.get("", {})) if owner.label else list(stored.values())[-1]
        return by_id.get(owner.kb_id_, list(by_id.values())[-1]) if by_id else self.empty

    def join(self, entry: Any, stored: Any, owner: Span) -> Any:
        """Return what is stored, with the entry last. A mapping is all that `Doc.to_json` wrote for the place."""
        if isinstance(entry, dict):
            return entry
        by_label = dict(stored) if isinstance(stored, dict) else {}
        by_id = dict(by_label.pop(owner.label_, {}))
        by_id.pop(owner.kb_id_, None)
        return {**by_label, owner.label_: {**by_id, owner.kb_id_: entry}}


def _lists(rows: Any, as_list: Callable[[Any], List[Any]] = list) -> Any:
    """Return rows as msgpack has them, or the mapping that `Doc.to_json` wrote."""
    return rows if isinstance(rows, dict) else list(map(as_list, rows))


def _as_it_is(value: Any) -> Any:
    return value


# the composite splits of a mention, the most plausible first
COMPOSITE_SPLITS: Attribute[List[Tuple[str, ...]]] = Attribute(
    "composite_splits", lambda splits: list(map(tuple, splits)), _lists
)
get_composite_splits, set_composite_splits = COMPOSITE_SPLITS.get, COMPOSITE_SPLITS.set

# the variants of a mention that seem misspelled, each with its correction
CORRECTIONS: Attribute[Dict[str, str]] = Attribute("corrections", dict, lambda pairs: _lists(dict(pairs).items()))
get_corrections, set_corrections = CORRECTIONS.get, CORRECTIONS.set

# the flags of a mention, such as "negated"; empty if it has none, or if nothing has looked for them
ASSERTION: Attribute[Tuple[str, ...]] = Attribute("assertion", tuple)
get_assertion, set_assertion = ASSERTION.get, ASSERTION.set

# what a note says of a drug or of a value of the laboratory; empty for other mentions, or if nothing has looked for it
DRUG: Attribute[Drug] = Attribute("drug", lambda values: Drug(*values))
get_drug, set_drug = DRUG.get, DRUG.set

# the flags that a person decided, which the components keep
DECIDED: Attribute[Any] = Attribute("decided_flags", lambda flags: None if flags is None else tuple(flags), list, None)

# the sections of a note, in order
SECTIONS: Attribute[List[Section]] = Attribute("sections", lambda rows: list(map(Section._make, rows)), _lists)
get_sections, set_sections = SECTIONS.get, SECTIONS.set

# the name of the vocabulary that the `concept_matcher` found here
MATCHED_NAME: Attribute[Optional[str]] = LinkedAttribute("matched_name", _as_it_is, _as_it_is, None)
get_matched_name, set_matched_name = MATCHED_NAME.get, MATCHED_NAME.set

# the texts that say a name in other words, the mention or the parts of a composite: the name, the score, the reason
OTHER_WORDS: Attribute[Dict[str, Tuple[str, float, str]]] = LinkedAttribute(
    "other_words",
    lambda rows: {text: (name, score, reason) for text, name, score, reason in rows},
    lambda other_words: [[text, *evidence] for text, evidence in other_words.items()],
)
get_other_words, set_other_words = OTHER_WORDS.get, OTHER_WORDS.set

# concept ids with scores, best first
KB_ENTS: Attribute[List[Tuple[str, float]]] = LinkedAttribute(
    "kb_ents", lambda rows: [(concept_id, score) for concept_id, score in rows], _lists
)
get_kb_ents, set_kb_ents = KB_ENTS.get, KB_ENTS.set

# the name of the component that linked the mention, if it is not the usual one
LINKED_BY: Attribute[Optional[str]] = LinkedAttribute("linked_by", _as_it_is, _as_it_is, None)
get_linked_by = LINKED_BY.get


def set_linked_by(span: Span, name: Optional[str]) -> None:
    """Set the name of the component that linked the mention; None if it is the usual one."""
    if name is not None or LINKED_BY.key(span) in span.doc.user_data:
        LINKED_BY.set(span, name)


def has_sections(doc: Doc) -> bool:
    """Return whether a component has looked for sections."""
    return SECTIONS.key(doc) in doc.user_data


def get_section(span: Span) -> Optional[str]:
    """Return the label of the section in which a mention begins, such as "family history"."""
    entries = span.doc.user_data.get(SECTIONS.key(span.doc), [])  # not each one made a `Section` for each mention
    number = bisect_right(entries, span.start_char, key=itemgetter(1)) - 1
    return entries[number][0] if number >= 0 else None


# --- links: an entry has the plain fields, the runner-up, the rejected one, the reasons, the candidates and `missing`


def _link(entry: Sequence[Any]) -> Link:
    """Return the link of an entry. An entry of an earlier version is shorter."""
    plain, others, reasons = entry[:_PLAIN_FIELDS], entry[_PLAIN_FIELDS:_REASONS], entry[_REASONS : _REASONS + 1]
    link = Link(*plain, *(other and Alternative(*other) for other in others))
    candidates = [Alternative(*candidate) for listed in entry[_REASONS + 1 : _REASONS + 2] for candidate in listed]
    missing = next(iter(entry[_REASONS + 2 :]), None)
    return link._replace(reasons=tuple(*reasons), candidates=tuple(candidates), missing=missing)


def _link_entry(link: Link) -> List[Any]:
    runner_up, rejected = link.runner_up and list(link.runner_up), link.rejected and list(link.rejected)
    entry: List[Any] = [*link[:_PLAIN_FIELDS], runner_up, rejected, list(link.reasons)]
    if link.candidates or link.missing is not None:
        entry += [_lists(link.candidates), link.missing]
    return entry


LINKS: Attribute[List[Link]] = LinkedAttribute(
    "links", lambda entries: list(map(_link, entries)), partial(_lists, as_list=_link_entry)
)
set_links = LINKS.set  # without the flags: `set_assertion` sets those of the mention


def get_links(span: Span) -> List[Link]:
    """Return the links of the mention, one per part."""
    assertion = get_assertion(span)
    return [link._replace(assertion=assertion) for link in LINKS.get(span)]


# --- concepts of the document: [id, score, name, [[start, end], …], [[signal, contribution], …]]


def get_concepts(doc: Doc) -> List[DocumentConcept]:
    """Return the concepts of the whole document, best first."""
    return [
        DocumentConcept(
            concept_id, score, name, tuple(_span(doc, *place) for place in places), tuple(map(tuple, contributions))
        )
        for concept_id, score, name, places, contributions in CONCEPTS.get(doc)
    ]


def _concept_entry(concept: DocumentConcept) -> List[Any]:
    evidence = [list(_bounds(span)) for span in concept.evidence]
    contributions = [[signal, float(value)] for signal, value in concept.contributions]
    return [concept.concept_id, float(concept.score), concept.name, evidence, contributions]


CONCEPTS: Attribute[List[Any]] = Attribute("concepts", list, lambda concepts: list(map(_concept_entry, concepts)))
set_concepts = CONCEPTS.set


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
    return span if _bounds(span) == (start, end) else PartOfTokens.at(doc, start, end)


class PartOfTokens(Span):
    """A span with exact characters, also where the tokenizer did not split: "CKD" in the token "CKD)1".

    Attributes:
        characters: Those that `text`, `start_char` and `end_char` give. Everything else is that of the tokens.
    """

    characters: Tuple[int, int]

    @classmethod
    def at(cls: Type[Part], doc: Doc, start: int, end: int) -> Part:
        """Return the span with some characters."""
        span = _span(doc, start, end)
        part = cls(doc, span.start, span.end)
        part.characters = start, end
        return part

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
