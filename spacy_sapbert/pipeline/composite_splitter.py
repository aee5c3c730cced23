"""`composite_splitter`: propose splits of composite mentions, from which the linker chooses."""

from typing import Dict, List, Optional, Tuple

from spacy.language import Language
from spacy.tokens import Doc

from ..text.abbreviations import expand
from ..text.composites import composite_splits
from .attributes import COMPOSITE_SPLITS, get_abbreviation_occurrences
from .base import MentionComponent
from .component_settings import add_factory, check_setting
from .mentions import mentions_of

CompositeSplits = List[Tuple[str, ...]]


class CompositeSplitter(MentionComponent):
    """Writes the splits of composite mentions to `span._.composite_splits`, the most plausible first.

    A split is a tuple of texts, one per single mention: ("breast cancer", "ovarian cancer"). If the mention has
    resolved abbreviations, the splits of the expanded mention come first. A mention without a connector has no splits.

    Args:
        nlp: The pipeline.
        name: The name of the component.
        spans_key: The span group with the mentions; None for `doc.ents`.
        max_splits: The most splits of the mention as written, and of the expanded mention.
        language: The language of the rules: "de", "en", "es" or "fr". None takes that of the pipeline.

    Raises:
        SapbertError: E125 the language has no rules, E406 `max_splits` is less than 1.
    """

    fixed = ("language",)
    writes = COMPOSITE_SPLITS
    shown = ("spans_key", "max_splits")

    def __init__(
        self,
        nlp: Language,
        name: str = "composite_splitter",
        *,
        spans_key: Optional[str] = None,
        max_splits: int = 6,
        language: Optional[str] = None,
    ) -> None:
        self.keep(nlp, name, locals())
        check_setting(self, "max_splits", max_splits >= 1, "at least 1")

    def find(self, doc: Doc) -> List[CompositeSplits]:
        occurrences = get_abbreviation_occurrences(doc)
        text = doc.text if occurrences else ""  # spaCy builds the text on each access
        splits_of_mentions = []
        for mention in mentions_of(doc, self.spans_key):
            forms = [mention.text]
            if occurrences:
                forms.insert(0, expand(text, mention.start_char, mention.end_char, occurrences, self._rules))
            proposed: Dict[Tuple[str, ...], None] = {}
            for form in forms:
                proposed.update(dict.fromkeys(composite_splits(form, max_splits=self.max_splits, rules=self._rules)))
            splits_of_mentions.append(list(proposed))
        return splits_of_mentions


add_factory(CompositeSplitter, assigns=["span._.composite_splits"], requires=["doc.ents"])
