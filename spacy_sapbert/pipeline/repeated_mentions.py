"""`repeated_mentions`: a second look at a document for what an NER found in one place and missed in another."""

from collections import Counter, defaultdict
from typing import Collection, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

from spacy.attrs import ORTH, SPACY
from spacy.language import Language
from spacy.tokens import Doc, Span

from ..text.repeats import Name, TokenNames
from .attributes import get_abbreviation_occurrences
from .component_settings import Component, add_factory, check_setting

LONGEST_BRACKET = 6  # tokens of a short form in brackets
CLEAR_MAJORITY = 2  # times as many mentions as those with another label


class Place(NamedTuple):
    """A mention as tokens of a document.

    Attributes:
        start: First token.
        end: Position after the last token.
        label: The label.
    """

    start: int
    end: int
    label: str


class RepeatedMentions(Component):
    """Adds to `doc.ents` what the NER found elsewhere in the same document.

    - A text that was found `min_found` times, and in a part `min_share` of its occurrences, is a mention everywhere.
    - A short form is a mention everywhere if its long form was found.
    - A long form is a mention if its short form was found `min_found` times.
    - What stands in brackets right behind a chemical and has two capitals is its short form: "cisplatin (CDDP)".

    Case and plural make no difference, except for short forms of capitals: "ALL" is not "all". A part of a longer name
    is left out, such as "MMP" in "MMP-9". No mention overlaps another one. The `abbreviation_resolver` provides the
    short and long forms. Add this component after the NER, and before the components that link or flag mentions.

    Args:
        nlp: The pipeline.
        name: The name of the component.
        min_found: How often the NER must have found a text.
        min_share: In which part of its occurrences it must have found it, from 0 to 1.
        correct: Also change mentions of the NER. A mention inside a long form is widened to it if its short form has
            the same label. The same text gets one label if at least twice as many mentions have it as have another. A
            defined short form gets the label of its long form.
        bracketed: The labels whose mentions have a short form in the brackets behind them, although its letters differ.
        only_labels: Only look at mentions with these labels. An empty list looks at all.
        language: The language of the rules: "de", "en", "es" or "fr". None takes that of the pipeline.

    Raises:
        SapbertError: E125 the language has no rules, E406 `min_found` is less than 1, or `min_share` is outside 0 to 1.
    """

    fixed = ("language",)
    shown = ("min_found", "min_share")

    def __init__(
        self,
        nlp: Language,
        name: str = "repeated_mentions",
        *,
        min_found: int = 2,
        min_share: float = 0.2,
        correct: bool = True,
        bracketed: List[str] = ["Chemical", "CHEMICAL"],
        only_labels: List[str] = [],
        language: Optional[str] = None,
    ) -> None:
        self.keep(nlp, name, locals())
        check_setting(self, "min_found", min_found >= 1, "at least 1")
        check_setting(self, "min_share", 0 <= min_share <= 1, "from 0 to 1")

    def annotate(self, doc: Doc, found: List[Place]) -> None:
        if found == _places(doc):
            return  # setting entities says of every other token that it is none
        ids = {(entity.start, entity.end): (entity.kb_id, entity.id) for entity in doc.ents}
        spans = []
        for place in found:
            kb_id, span_id = ids.get(place[:2], (0, 0))
            spans.append(Span(doc, place.start, place.end, label=place.label, kb_id=kb_id, span_id=span_id))
        doc.ents = spans

    def find(self, doc: Doc) -> List[Place]:
        """Return all mentions of a document, by position."""
        entities = _places(doc)
        found = [entity for entity in entities if self._is_wanted(entity)]
        if not found:
            return entities
        others = [entity for entity in entities if not self._is_wanted(entity)]
        orths, spaces = doc.to_array([ORTH, SPACY]).T.tolist()  # faster than a token object for each
        names = TokenNames([doc.vocab.strings[orth] for orth in orths], list(map(bool, spaces)), self._rules)
        defined = _defined_forms(doc)
        forms = [*defined, *_bracketed_forms(doc, [place for place in found if place.label in self.bracketed], defined)]
        if self.correct:
            found = _with_one_label(_widened(found, others, forms), names)
            found = _with_labels_of_long_forms(found, names, defined, self._rules.composites.prepositions)
        return sorted([*others, *found, *self._added(found, others, names, _long_forms(names, forms))])

    def _is_wanted(self, entity: Place) -> bool:
        return not self.only_labels or entity.label in self.only_labels

    def _added(
        self, found: Sequence[Place], others: Sequence[Place], names: TokenNames, long_forms: Dict[Name, Name]
    ) -> List[Place]:
        """Return the new mentions. `others` are mentions with labels that are not looked at."""
        own = _votes(found, names)
        shared: Dict[Name, Counter[str]] = defaultdict(Counter)
        for name, votes in own.items():
            shared[long_forms.get(name, name)].update(votes)
        related = {name for pair in long_forms.items() if pair[1] in shared for name in pair}
        places = names.find({*own, *related}, [place[:2] for place in (*found, *others)])
        n_missed = Counter(name for _, _, name in places)
        labels: Dict[Name, Optional[str]] = {}
        for name, missed in n_missed.items():
            votes, long = own.get(name, Counter()), long_forms.get(name, name)
            label = _winner(votes, max(self.min_found, self.min_share * (votes.total() + missed)))
            if label is None and name in related and name == long:
                label = _winner(shared[name], self.min_found)
            elif label is None and long in own and name != long:
                label = _winner(shared[long], 1)
            labels[name] = label if not votes or label in votes else None
        return [Place(start, end, label) for start, end, name in places if (label := labels[name]) is not None]


add_factory(RepeatedMentions, assigns=["doc.ents"], requires=["doc.ents"])


def _places(doc: Doc) -> List[Place]:
    """Return the entities of a document."""
    return [Place(entity.start, entity.end, entity.label_) for entity in doc.ents]


class _Form(NamedTuple):
    """A short form with its long form, both as first token and position after the last token."""

    short: Tuple[int, int]
    long: Tuple[int, int]


def _defined_forms(doc: Doc) -> List[_Form]:
    """Return the short forms that the document defines, if they and their long forms begin and end with a token."""
    occurrences = get_abbreviation_occurrences(doc)
    forms = []
    for start, end, _, long_start, long_end, _ in occurrences:
        if long_start is not None and long_end is not None:
            short, long = doc.char_span(start, end), doc.char_span(long_start, long_end)
            if short is not None and long is not None:
                forms.append(_Form((short.start, short.end), (long.start, long.end)))
    return forms


def _bracketed_forms(doc: Doc, mentions: Iterable[Place], defined: Iterable[_Form]) -> List[_Form]:
    """Return what stands in brackets behind mentions and looks like a short form, unless it has a definition."""
    known = {form.short for form in defined}
    forms = []
    for start, end, _ in mentions:
        bracket = _bracket_at(doc, end)
        if bracket and bracket not in known and sum(map(str.isupper, doc[slice(*bracket)].text)) >= 2:
            forms.append(_Form(bracket, (start, end)))
    return forms


def _bracket_at(doc: Doc, start: int) -> Optional[Tuple[int, int]]:
    """Return the tokens in the brackets that open at a token, if no blank is among them."""
    if start >= len(doc) or doc[start].text != "(":
        return None
    for end in range(start + 1, min(start + LONGEST_BRACKET + 2, len(doc))):
        if doc[end].text == ")":
            return (start + 1, end) if end > start + 1 else None
        if doc[end].whitespace_ and doc[end + 1 : end + 2].text != ")":
            return None
    return None


def _long_forms(names: TokenNames, forms: Iterable[_Form]) -> Dict[Name, Name]:
    """Return the long form of each short form. The first definition counts."""
    found: Dict[Name, Name] = {}
    for short, long in forms:
        found.setdefault(names.name(*short), names.name(*long))
    return {short: long for short, long in found.items() if long not in found}


def _widened(found: Sequence[Place], others: Iterable[Place], forms: Iterable[_Form]) -> List[Place]:
    """Widen the only mention inside a long form to the long form, if its short form has the same label."""
    labels = {(start, end): label for start, end, label in found}
    votes: Dict[Tuple[int, int], Counter[str]] = defaultdict(Counter)
    for short, long in forms:
        if short in labels:
            votes[long][labels[short]] += 1
    owners = {token: place for place in (*found, *others) for token in range(place.start, place.end)}
    wider: Dict[Place, Place] = {}
    for (start, end), of_short in votes.items():
        inside = {owners[token] for token in range(start, end) if token in owners}
        place = inside.pop() if len(inside) == 1 else None
        if not place or place in wider or place.start < start or place.end > end:
            continue
        if place.label == _winner(of_short, 1):
            wider[place] = Place(start, end, place.label)
            owners.update((token, place) for token in range(start, end))  # no other long form may overlap it
    return [wider.get(place, place) for place in found]


def _with_one_label(found: Sequence[Place], names: TokenNames) -> List[Place]:
    """Give mentions of the same text the label of a clear majority."""
    votes, places = _votes(found, names), []
    for place in found:
        labels = votes[names.name(place.start, place.end)]
        ((label, most),) = labels.most_common(1)
        places.append(place._replace(label=label) if most >= CLEAR_MAJORITY * labels[place.label] else place)
    return places


def _with_labels_of_long_forms(
    found: Sequence[Place], names: TokenNames, defined: Iterable[_Form], prepositions: Collection[str]
) -> List[Place]:
    """Give mentions that are short forms the most frequent label of their long forms, or of what ends these."""
    votes, by_end = _votes(found, names), {place.end: place for place in found}
    label_of = {short: _winner(votes[long], 1) for short, long in _long_forms(names, defined).items() if long in votes}
    for short, (start, end) in defined:
        head = by_end.get(end)
        # "ribavirin-induced [anemia]", but not "deleted in [colorectal cancer]"
        if head and head.start >= start and not set(prepositions).intersection(names.name(start, head.start)):
            label_of.setdefault(names.name(*short), head.label)
    return [place._replace(label=label_of.get(names.name(place.start, place.end)) or place.label) for place in found]


def _votes(places: Iterable[Place], names: TokenNames) -> Dict[Name, "Counter[str]"]:
    """Return the number of mentions with each label, by name."""
    votes: Dict[Name, Counter[str]] = defaultdict(Counter)
    for start, end, label in places:
        votes[names.name(start, end)][label] += 1
    return votes


def _winner(votes: "Counter[str]", least: float) -> Optional[str]:
    """Return the most frequent label, if it has at least some votes and no other one has as many."""
    (label, most), (_, second) = [*votes.most_common(2), ("", 0), ("", 0)][:2]
    return label if most >= least and most > second else None
