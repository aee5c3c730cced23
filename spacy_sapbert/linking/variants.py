"""Which form of a mention is linked: short or long form, the whole or its parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ..types import Candidate, LinkedPart

# What a reading counts less for each likelier one. Fitted on the training parts of BC5CDR and NCBI Disease, as a weight
# on MEDIC: from 0.02 on accuracy is the same, but fewer single mentions are split (`benchmarks/decisions.py`).
SPLIT_COST = 0.05


class MentionVariants(NamedTuple):
    """The texts for which a mention can be looked up.

    text (str): the mention as it stands.
    long_form (str | None): the mention with its abbreviations expanded, where it has any.
    composite_splits (Sequence[tuple[str, ...]]): the single mentions of a composite, the likeliest reading first.
    name (str | None): the name that the mention is but for case, plural and word order, where that is known already.
    corrections (Mapping[str, str]): those of these texts that seem to be misspelt, each with its correction.
    """

    text: str
    long_form: str | None = None
    composite_splits: Sequence[tuple[str, ...]] = ()
    name: str | None = None
    corrections: Mapping[str, str] = MappingProxyType({})

    def texts(self) -> list[str]:
        """RETURNS (list[str]): everything that has to be looked up, before `decide` can be called."""
        whole = [text for text in (self.text, self.long_form, self.name) if text is not None]
        return whole + [part for reading in self.composite_splits for part in reading] + list(self.corrections.values())


class VariantSelector(NamedTuple):
    """The rule that decides between the forms of a mention.

    short_form_margin (float): the mention as it stands is linked only where its score is by more than this above that
        of its long form. A document's own definition says more than a short form that happens to be a name.
    split_margin (float): a reading counts as much as the lowest of its parts' scores, less `SPLIT_COST` for each
        likelier reading. It is taken only where that is by more than this above the score of the whole; of several, the
        one that counts most, then the likelier. From 0 on, a mention that is a name of the vocabulary is never split.
        Parts that are all of one concept are linked as one.
    spelling_margin (float): the correction of a text is taken only where its score is by more than this above that of
        the text as it stands. From 0 on, what is a name of the vocabulary is never corrected.
    """

    short_form_margin: float
    split_margin: float
    spelling_margin: float = 0.0

    def decide(self, forms: MentionVariants, look_up: Callable[[str], Sequence[Candidate]]) -> tuple[LinkedPart, ...]:
        """look_up: gives the candidates of each of `forms.texts()`, best first.

        RETURNS (tuple[LinkedPart, ...]): the whole as one part, or the parts.
        """
        whole = self._whole(forms, look_up)
        best: tuple[LinkedPart, ...] = (whole,)
        best_score = _score(whole) + self.split_margin
        for rank, reading in enumerate(forms.composite_splits):
            parts = tuple(self._part(text, None, forms, look_up) for text in reading)
            score = min(map(_score, parts)) - SPLIT_COST * rank
            if score > best_score:
                best, best_score = parts, score
        # "stage II and III carcinoma": what all parts have in common is one concept, linked once
        concepts = {part.candidates[0].concept_id if part.candidates else None for part in best}
        return best[:1] if len(concepts) == 1 else best

    def _whole(self, forms: MentionVariants, look_up: Callable[[str], Sequence[Candidate]]) -> LinkedPart:
        whole = self._part(forms.text, None, forms, look_up)
        if forms.long_form is not None:
            long = self._part(forms.long_form, forms.long_form, forms, look_up)
            whole = whole if _score(whole) > _score(long) + self.short_form_margin else long
        if forms.name is None:
            return whole
        named = whole._replace(candidates=tuple(look_up(forms.name)))
        return named if _score(named) > _score(whole) else whole

    def _part(
        self, text: str, long_form: str | None, forms: MentionVariants, look_up: Callable[[str], Sequence[Candidate]]
    ) -> LinkedPart:
        as_it_stands = LinkedPart(text, long_form, tuple(look_up(text)))
        if text not in forms.corrections:
            return as_it_stands
        right = forms.corrections[text]
        corrected = LinkedPart(right, long_form, tuple(look_up(right)))
        return corrected if _score(corrected) > _score(as_it_stands) + self.spelling_margin else as_it_stands


def _score(part: LinkedPart) -> float:
    return part.candidates[0].score if part.candidates else 0.0
