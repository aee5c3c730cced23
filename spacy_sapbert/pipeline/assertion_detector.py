"""`assertion_detector`: flag mentions that are negated, uncertain, of the family, historical or hypothetical.

In notes, drugs also get a state, such as stopped.
"""

import re
from bisect import bisect_right
from copy import deepcopy
from typing import Any, Dict, List, Optional, Sequence, Tuple

from spacy.language import Language
from spacy.tokens import Doc, Span

from ..kb.ids import curie_of
from ..kb.semantic_types import DRUG as OF_DRUG
from ..kb.semantic_types import kind_of
from ..text.notes.assertion import (
    ANY,
    CAUSE,
    CHRONIC,
    DIRECTIONS,
    DONE,
    FLAGS,
    PAST,
    SAME,
    SECTION,
    CueMatcher,
    check_language,
    matcher_of,
    read_cues,
    scope_bounds,
)
from ..text.notes.drugs import Drug, drug_reader_of
from ..text.notes.sections import Section, find_sections, flag_at, section_at
from .attributes import ASSERTION, DECIDED, DRUG, get_sections, has_sections
from .base import MentionComponent
from .component_settings import add_factory, check_setting
from .mentions import mentions_of, sentence_starts

Cues = Dict[str, Dict[str, List[str]]]
Flags = Tuple[str, ...]
Found = Tuple[Flags, Drug]

# the keys of negspaCy's termsets, which pipelines of version 1.0.0 have
_TERMSET = {"preceding_negations": "before", "following_negations": "after"}
_TERMSET.update({"termination": "end", "pseudo_negations": "pseudo"})


class AssertionDetector(MentionComponent):
    """Writes the flags of a mention to `span._.assertion`: "negated", "uncertain", "family" and others.

    Cues such as "no evidence of" flag the mentions before or after them. A cue has no effect beyond its sentence, a
    blank line, an item of a list, a heading, or a word such as "but". A cue inside a mention has none. Add the
    component after the one that finds the mentions.

    The sentences are those of the document. If no component has found any, spaCy's rules of the `sentencizer` do. So
    are the sections; without `note_sections`, the component finds them itself. With it, the document is a note: a
    chronic disease of the past is present, and `span._.drug` has the state of a drug, its dosage, or the value of the
    laboratory; see `Drug`. What is a drug is told by the label of the mention, or by the prefix of its id.

    Args:
        nlp: The pipeline.
        name: The name of the component.
        spans_key: The span group with the mentions; None for `doc.ents`.
        cues: For each flag the cues "before" and "after" a mention, the "end" of their scope; see `default_cues`. Flags
            without cues are not looked for. None takes those of the language of the pipeline.
        break_at_lines: Whether the end of every line also ends the effect of a cue. If not, only that of a short line
            does, before a list or a capital letter.

    Raises:
        SapbertError: E125 there are no cues of the language, E406 `cues` has another flag or another direction.
    """

    fixed = ("cues",)
    writes = ASSERTION

    def __init__(
        self,
        nlp: Language,
        name: str = "assertion_detector",
        *,
        spans_key: Optional[str] = None,
        cues: Optional[Cues] = None,
        break_at_lines: bool = False,
    ) -> None:
        if cues is None:
            check_language(nlp.lang or "")
        else:
            cues = {flag: {_TERMSET.get(key, key): each for key, each in of.items()} for flag, of in cues.items()}
        self.keep(nlp, name, locals())
        self._matcher: Optional[CueMatcher] = None
        wanted = f"null, or cues of {', '.join(FLAGS)}, each with lists such as '{DIRECTIONS[0]}'"
        check_setting(self, "cues", cues is None or _are_valid(cues), wanted)

    def __getstate__(self) -> Dict[str, Any]:
        return {**vars(self), "_matcher": None}  # built again from the cues

    @property
    def flags(self) -> Flags:
        """The flags that are looked for, in the order in which they are reported."""
        return self.matcher.flags

    @property
    def matcher(self) -> CueMatcher:
        """The matcher of the cues."""
        if self._matcher is None:
            self._matcher = matcher_of(self.vocab.lang) if self._cues is None else CueMatcher(self._cues)
        return self._matcher

    def find(self, doc: Doc) -> List[Found]:
        spans = mentions_of(doc, self.spans_key)
        mentions = [(span.start_char, span.end_char) for span in spans]
        if not mentions:
            return []
        text, is_note = doc.text, has_sections(doc)
        sections = get_sections(doc) if is_note else find_sections(text, self.vocab.lang)
        bounds = self._bounds(doc, text, sections)
        of_scope: Dict[int, List[int]] = {}
        for number, (start, _) in enumerate(mentions):
            of_scope.setdefault(bisect_right(bounds, start) - 1, []).append(number)
        flags: Dict[int, Flags] = {}
        drugs: Dict[int, Drug] = {}
        of_lists = self.matcher.of_lists(text, bounds)
        reader = drug_reader_of(self.vocab.lang) if is_note else None
        for first, numbers in of_scope.items():
            places, scope = [mentions[number] for number in numbers], (bounds[first], bounds[first + 1])
            flag = flag_at(sections, bounds[first], self.vocab.lang) or of_lists.get(first)
            flags.update(zip(numbers, self.matcher.flags_of(text, scope, places, flag, in_note=is_note)))
            flags.update(_decided(spans, numbers))
            of_drugs = [number for number in numbers if reader and _is_drug(spans[number])]
            if reader and of_drugs:
                section = section_at(sections, bounds[first])
                places, given = [mentions[number] for number in of_drugs], [flags[number] for number in of_drugs]
                drugs.update(zip(of_drugs, reader.read(text, scope, places, section.label if section else "", given)))
        return [(flags[number], drugs.get(number, Drug())) for number in range(len(spans))]

    def _bounds(self, doc: Doc, text: str, sections: Sequence[Section]) -> List[int]:
        """Return where the scopes of cues begin."""
        starts = [doc[start].idx for start in sentence_starts(doc)]
        if self.break_at_lines:
            starts += [match.end() for match in re.finditer("\n", text)]
        starts += [position for section in sections for position in (section.heading_start, section.start)]
        return scope_bounds(text, starts)

    def annotate(self, doc: Doc, found: Sequence[Found]) -> None:
        super().annotate(doc, [flags for flags, _ in found])
        for mention, (_, drug) in zip(mentions_of(doc, self.spans_key), found):
            if any(drug) or any(DRUG.get(mention)):
                DRUG.set(mention, drug)


def _decided(spans: Sequence[Span], numbers: Sequence[int]) -> Dict[int, Flags]:
    """Return the flags that a person decided, by the numbers of mentions."""
    decided = ((number, DECIDED.get(spans[number])) for number in numbers)
    return {number: flags for number, flags in decided if flags is not None}


def _is_drug(mention: Span) -> bool:
    return kind_of([mention.label_], curie_of(mention.kb_id_).partition(":")[0]) == OF_DRUG


add_factory(AssertionDetector, assigns=["span._.assertion", "span._.drug"], requires=["doc.ents"])


def default_cues(language: str = "en") -> Cues:
    """Return the cues of each flag, to add some or remove some for the setting `cues`.

    Args:
        language: The code of the language.

    Raises:
        SapbertError: E125 there are no cues of the language.
    """
    return deepcopy(read_cues(language))


def _are_valid(cues: Cues) -> bool:
    directions = {direction for flag, of_flag in cues.items() if flag != SAME for direction in of_flag}
    return set(cues) <= {*FLAGS, ANY, PAST, DONE, CAUSE, CHRONIC, SECTION, SAME} and directions <= {*DIRECTIONS, ANY}
