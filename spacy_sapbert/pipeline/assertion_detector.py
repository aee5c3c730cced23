"""`assertion_detector`: flag mentions that are negated, uncertain, of the family, historical or hypothetical."""

import warnings
from copy import deepcopy
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Optional, Tuple

from spacy.language import Language
from spacy.tokens import Doc, Span

from ..errors import MissingExtraError, Warnings
from ..text.assertion_cues import BEFORE, CUES, FLAGS, NOT_EXCLUDED, TERMSET_KEYS
from .attributes import get_assertion, register, set_assertion
from .component_settings import Component, check_setting, defaults_of
from .mentions import mentions_of, sentence_starts

if TYPE_CHECKING:
    from negspacy.negation import Negex

Cues = Dict[str, Dict[str, List[str]]]
Flags = Tuple[str, ...]

# negspaCy compares all mentions of a text with all ends of a scope, so a text without sentences is cut
_LONGEST = 256
_MASK = "_"  # no cue: "without" in "migraine without aura" denies nothing
_MENTIONS = "mentions"
_NEGEX = "negex"
# the keys of negspaCy's patterns, as it writes them
_KEYS = ("pseudo", "Preceding", "Following", "Termination")


class AssertionDetector(Component):
    """Writes the flags of a mention to `span._.assertion`: "negated", "uncertain", "family" and others.

    Cues such as "no evidence of" flag the mentions before or after them. A cue has no effect beyond its sentence, a
    blank line, or a word such as "but". A cue inside a mention has none. negspaCy finds the cues and their scope
    (NegEx, Chapman et al. 2001), once for each flag. Install it with the extra `assertion`. Add the component after the
    one that finds the mentions.

    The sentences are those of the document. If no component has found any, spaCy's rules of the `sentencizer` do.

    Args:
        nlp: The pipeline. Its tokenizer splits the cues.
        name: The name of the component.
        spans_key: The span group with the mentions; None for `doc.ents`.
        cues: For each flag a termset as negspaCy has it. A list of it may be missing. Flags without a termset are not
            looked for. None takes `default_cues`, which are English.
        break_at_lines: Whether the end of a line also ends the effect of a cue, as in a list of findings.

    Raises:
        SapbertError: E406 `cues` has another flag or another list, E542 negspaCy is not installed.
    """

    fixed = ("cues",)

    def __init__(
        self,
        nlp: Language,
        name: str = "assertion_detector",
        *,
        spans_key: Optional[str] = None,
        cues: Optional[Cues] = None,
        break_at_lines: bool = False,
    ) -> None:
        _negspacy()
        if cues is None and nlp.lang != "en":
            warnings.warn(Warnings.W414.format(lang=nlp.lang), stacklevel=1)  # shown once for each language
        self.keep(nlp, name, locals())
        self.nlp = nlp
        self._detectors: Optional[Dict[str, Negex]] = None
        wanted = f"null, or termsets of {', '.join(FLAGS)}, each with lists such as {BEFORE}"
        check_setting(self, "cues", cues is None or _are_valid(cues), wanted)

    def __getstate__(self) -> Dict[str, Any]:
        return {**vars(self), "_detectors": None}  # built again from the cues

    @property
    def flags(self) -> Flags:
        """The flags that are looked for, in the order in which they are reported."""
        return FLAGS if self._cues is None else tuple(flag for flag in FLAGS if flag in self._cues)

    def predict(self, docs: Iterable[Doc]) -> List[List[Flags]]:
        """Return the flags of each mention of each document. The documents are not changed."""
        return [self._flags_of_mentions(doc) for doc in docs]

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[List[Flags]]) -> None:
        """Write the predictions to the mentions. They replace earlier ones."""
        register()  # scispaCy may have replaced the attributes meanwhile
        for doc, found in zip(docs, predictions):
            for mention, flags in zip(mentions_of(doc, self.spans_key), found):
                if flags or get_assertion(mention):
                    set_assertion(mention, flags)

    def _flags_of_mentions(self, doc: Doc) -> List[Flags]:
        mentions = mentions_of(doc, self.spans_key)
        if not mentions:
            return []
        order = sorted(range(len(mentions)), key=lambda number: mentions[number].start)
        found: Dict[int, Flags] = {}
        rest = 0
        for start, end in pairwise([*_scope_starts(doc, self.break_at_lines), len(doc)]):
            first = rest
            while rest < len(order) and mentions[order[rest]].start < end:
                rest += 1
            if first < rest:
                inside = order[first:rest]
                found.update(zip(inside, self._flags_inside(doc[start:end], [mentions[number] for number in inside])))
        return [found[number] for number in range(len(mentions))]

    def _flags_inside(self, scope: Span, mentions: List[Span]) -> List[Flags]:
        """Return the flags of the mentions that begin in a sentence, which becomes a document of its own."""
        ends = (min(mention.end, scope.end) for mention in mentions)
        places = [(mention.start - scope.start, end - scope.start) for mention, end in zip(mentions, ends)]
        words = [token.text for token in scope]
        for start, end in places:
            words[start:end] = [_MASK] * (end - start)
        sentence = Doc(
            scope.doc.vocab,
            words=words,
            spaces=[bool(token.whitespace_) for token in scope],
            sent_starts=[True, *(False for _ in scope[1:])],
        )
        sentence.spans[_MENTIONS] = [Span(sentence, start, end) for start, end in places]
        found: List[List[str]] = [[] for _ in mentions]
        for flag, detector in self._built().items():
            detector(sentence)
            for flags, mention in zip(found, sentence.spans[_MENTIONS]):
                if mention._.get(_NEGEX):
                    flags.append(flag)
            sentence.user_data.clear()  # the next flag has the same attribute
        return [tuple(flags) for flags in found]

    def _built(self) -> Dict[str, "Negex"]:
        """Return the detectors. They are built at first use, when the tokenizer of a saved pipeline is loaded."""
        if self._detectors is None:
            cues = default_cues() if self._cues is None else self._cues
            for key in _KEYS:  # they must outlive the memory zone of the first documents
                self.nlp.vocab.strings.add(key, allow_transient=False)  # type: ignore[call-arg]
            self._detectors = {flag: self._build(cues[flag]) for flag in self.flags}
        return self._detectors

    def _build(self, termset: Dict[str, List[str]]) -> "Negex":
        complete = {key: list(termset.get(key, ())) for key in TERMSET_KEYS}
        name = f"{self.name}_{_NEGEX}"
        return _negspacy().Negex(self.nlp, name, complete, extension_name=_NEGEX, span_keys=[_MENTIONS])


Language.factory(
    "assertion_detector",
    func=AssertionDetector,
    assigns=["span._.assertion"],
    default_config=defaults_of(AssertionDetector),
)


def default_cues() -> Cues:
    """Return the English cues of each flag, to add some or remove some for the setting `cues`.

    Those of negation are negspaCy's for clinical text, without the cues that leave the matter open, such as "rule out".

    Raises:
        SapbertError: E542 negspaCy is not installed.
    """
    clinical = _negspacy().termset("en_clinical").get_patterns()
    negated = {key: [cue for cue in phrases if cue not in NOT_EXCLUDED] for key, phrases in clinical.items()}
    return {"negated": negated, **deepcopy(CUES)}


def _negspacy() -> Any:
    try:
        from negspacy import negation
    except ImportError as error:
        raise MissingExtraError(what="An assertion_detector", package="negspacy", extra="assertion") from error
    return negation


def _are_valid(cues: Cues) -> bool:
    return set(cues) <= set(FLAGS) and all(set(termset) <= set(TERMSET_KEYS) for termset in cues.values())


def _scope_starts(doc: Doc, break_at_lines: bool) -> Iterator[int]:
    """Yield the first token of each stretch of text that no cue leaves."""
    ends = 1 if break_at_lines else 2
    starts = set(sentence_starts(doc))
    last = 0
    yield 0
    for token in doc[1:]:
        before = token.nbor(-1)
        after_lines = before.is_space and before.text.count("\n") >= ends
        if token.i in starts or after_lines or token.i - last >= _LONGEST:
            last = token.i
            yield last
