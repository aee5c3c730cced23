"""Choose the variant of a mention to link: short or long form, whole or parts, as written or corrected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ..text.formulas import formula_name
from ..text.normalize import biosyn
from ..types import Candidate, LinkedPart

# The score of a composite split is lowered by this for each more plausible split. Fitted on the training parts of
# BC5CDR and NCBI Disease with MEDIC. Accuracy is the same for all values from 0.02 on, but fewer single mentions are
# split (`benchmarks/variants.py`).
SPLIT_COST = 0.05

LookUp = Callable[[str], Sequence[Candidate]]


class MentionVariants(NamedTuple):
    """The texts for which a mention can be looked up.

    Attributes:
        text: The mention as written.
        long_form: The mention with its abbreviations expanded, if it has any.
        composite_splits: The single mentions of a composite, the most plausible split first.
        name: The name of the vocabulary that `concept_matcher` found here.
        corrections: The spelling corrections of these texts.
    """

    text: str
    long_form: str | None = None
    composite_splits: Sequence[tuple[str, ...]] = ()
    name: str | None = None
    corrections: Mapping[str, str] = MappingProxyType({})

    def texts(self, *, formulas: bool = True) -> list[str]:
        """Return all texts that `VariantSelector.select` looks up, with or without the names of formulas."""
        whole = [text for text in (self.text, self.long_form, self.name) if text is not None]
        texts = [*whole, *(part for split in self.composite_splits for part in split), *self.corrections.values()]
        return [*texts, *filter(None, map(self.formula_of, texts))] if formulas else texts

    def formula_of(self, text: str) -> str | None:
        """Return the name of a chemical formula. A short form that the document defines is none."""
        return formula_name(text) if self.long_form is None else None


class VariantSelector(NamedTuple):
    """Chooses between the variants of a mention by their scores.

    Attributes:
        short_form_margin: The mention as written wins over its long form only if its score is higher by more than this.
            A definition in the document is stronger evidence than a short form that happens to be a name.
        split_margin: A composite split wins over the whole only if its score is higher by more than this. The score of
            a split is the lowest of its parts, less `SPLIT_COST` for each more plausible split. With 0 or more, a name
            of the vocabulary is never split. Parts that all have the same concept are linked as one.
        spelling_margin: A corrected text wins over the written one only if its score is higher by more than this. With
            0 or more, a name of the vocabulary is never corrected.
        formulas: Whether a chemical formula is looked up by its name. The name wins only if the vocabulary has it, and
            if its score is higher.
    """

    short_form_margin: float
    split_margin: float
    spelling_margin: float = 0.0
    formulas: bool = True

    def select(self, variants: MentionVariants, look_up: LookUp) -> tuple[LinkedPart, ...]:
        """Choose the variant.

        Args:
            variants: The variants of the mention.
            look_up: Returns the candidates of each of `variants.texts()`, best first.

        Returns:
            The whole as one part, or the parts.
        """
        whole = self._whole(variants, look_up)
        best: tuple[LinkedPart, ...] = (whole,)
        best_score = _score(whole) + self.split_margin
        for rank, split in enumerate(variants.composite_splits):
            parts = tuple(self._part(text, None, variants, look_up) for text in split)
            score = min(map(_score, parts)) - SPLIT_COST * rank
            if score > best_score:
                best, best_score = parts, score
        # "stage II and III carcinoma": all parts have the same concept, which is linked once
        concepts = {part.candidates[0].concept_id if part.candidates else None for part in best}
        return best[:1] if len(concepts) == 1 else best

    def _whole(self, variants: MentionVariants, look_up: LookUp) -> LinkedPart:
        whole = self._part(variants.text, None, variants, look_up)
        if variants.long_form is not None:
            long = self._part(variants.long_form, variants.long_form, variants, look_up)
            whole = whole if _score(whole) > _score(long) + self.short_form_margin else long
        if variants.name is None:
            return whole
        named = whole._replace(candidates=tuple(look_up(variants.name)))
        return named if _score(named) > _score(whole) else whole

    def _part(self, text: str, long_form: str | None, variants: MentionVariants, look_up: LookUp) -> LinkedPart:
        written = LinkedPart(text, long_form, tuple(look_up(text)))
        if self.formulas and (name := variants.formula_of(text)):
            named = LinkedPart(name, long_form, tuple(look_up(name)))
            if named.candidates and biosyn(named.candidates[0].name) == name and _score(named) > _score(written):
                return named
        if text not in variants.corrections:
            return written
        right = variants.corrections[text]
        corrected = LinkedPart(right, long_form, tuple(look_up(right)))
        return corrected if _score(corrected) > _score(written) + self.spelling_margin else written


def _score(part: LinkedPart) -> float:
    return part.candidates[0].score if part.candidates else 0.0
