"""Choose the variant of a mention to link: short or long form, whole or parts, as written or corrected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ..text.abbreviations import likely_long_forms
from ..text.formulas import formula_name
from ..text.languages import ENGLISH, LanguageRules
from ..text.normalize import biosyn
from ..text.words import is_acronym
from ..types import Candidate, LinkedPart

# The score of a composite split is lowered by this for each more plausible split. Fitted on the training parts of
# BC5CDR and NCBI Disease with MEDIC. Accuracy is the same for all values from 0.02 on, but fewer single mentions are
# split.
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
        likely_long_form: Another mention of the document that fits a short form which the document does not define.
    """

    text: str
    long_form: str | None = None
    composite_splits: Sequence[tuple[str, ...]] = ()
    name: str | None = None
    corrections: Mapping[str, str] = MappingProxyType({})
    likely_long_form: str | None = None

    def texts(self, *, formulas: bool = True) -> list[str]:
        """Return all texts that `VariantSelector.select` looks up, with or without the names of formulas."""
        forms = (self.text, self.long_form, self.likely_long_form, self.name)
        whole = [text for text in forms if text is not None]
        texts = [*whole, *(part for split in self.composite_splits for part in split), *self.corrections.values()]
        return [*texts, *filter(None, map(self.formula_of, texts))] if formulas else texts

    def formula_of(self, text: str) -> str | None:
        """Return the name of a chemical formula. A short form that the document defines is none."""
        return formula_name(text) if self.long_form is None else None


def with_likely_long_forms(
    mentions: Sequence[tuple[MentionVariants, str]], rules: LanguageRules = ENGLISH
) -> list[MentionVariants]:
    """Return the variants of a document's mentions, each short form without a definition with its likely long form.

    That is the text of another mention with the same label, such as "acute liver failure" for "ALF".

    Args:
        mentions: The variants and the label of each mention.
        rules: The rules of the language.
    """
    by_label: dict[str, list[MentionVariants]] = {}
    for mention, label in mentions:
        by_label.setdefault(label, []).append(mention)
    long_forms = {label: _likely_long_forms(alike, rules) for label, alike in by_label.items()}
    return [
        mention._replace(likely_long_form=long_forms[label].get(mention.text)) if _is_undefined(mention) else mention
        for mention, label in mentions
    ]


def _likely_long_forms(mentions: Sequence[MentionVariants], rules: LanguageRules) -> dict[str, str]:
    short_forms = [mention.text for mention in mentions if _is_undefined(mention)]
    if not short_forms:
        return {}
    return likely_long_forms(short_forms, (mention.text for mention in mentions if not is_acronym(mention.text)), rules)


def _is_undefined(mention: MentionVariants) -> bool:
    """Return whether a mention is a short form that the document does not define."""
    return mention.long_form is None and is_acronym(mention.text)


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
        elif variants.likely_long_form is not None and not _is_name(variants.text, look_up(variants.text)):
            long = self._part(variants.likely_long_form, variants.likely_long_form, variants, look_up)
            whole = long if _score(long) > _score(whole) else whole
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


def _is_name(text: str, candidates: Sequence[Candidate]) -> bool:
    """Return whether a text is a name of one of its candidates."""
    form = biosyn(text)
    return any(biosyn(candidate.name) == form for candidate in candidates)


def _score(part: LinkedPart) -> float:
    return part.candidates[0].score if part.candidates else 0.0
