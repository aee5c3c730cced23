"""Choose the variant of a mention to link: short or long form, whole or parts, as written or corrected."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from itertools import chain
from math import inf
from operator import itemgetter
from string import ascii_lowercase
from types import MappingProxyType
from typing import NamedTuple

from ..text.abbreviations import likely_long_forms
from ..text.composites import differ_in_numbers
from ..text.critical_parts import contradictions
from ..text.formulas import formula_name
from ..text.languages import ENGLISH, LanguageRules
from ..text.short_forms import is_sense
from ..text.words import is_acronym, read_words
from ..types import Candidate, Grade, LinkedPart
from .agreement import REFUSED, Agreement, ordered, refused
from .rewrites import with_rewritten
from .settings import THRESHOLD, SelectionSettings

# The score of a composite split is lowered by this for each more plausible split. Fitted on the training parts of
# BC5CDR and NCBI Disease with MEDIC. Accuracy is the same for all values from 0.02 on, but fewer single mentions are
# split.
SPLIT_COST = 0.05
# If the whole would be linked to one part alone, the parts need only this score. Fitted in the same way. Parts that
# differ in numbers need no more, either: this splits no mention of a single concept in the training parts of NLM-Gene,
# GNormPlus, BioRED, BC5CDR and NCBI Disease.
PART_SCORE = 0.7
# A whole with this score is linked as a whole: "dilatation of the lateral and third ventricles".
ALMOST_SAME = 0.895
# The least score at which the name of a long form may have a number that the short form lacks: "estrogen receptor 1"
# for ER. With lower scores, the short form was right in all 18 cases, in the training parts of five corpora.
ADDED = 0.95
_STEM = 5  # letters by which words are alike
_PLURAL = re.compile(r"[^\W\dius]s$")

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
        apposition: Another name beside the mention, see `appositions`.
        other_words: Texts that say a name of the vocabulary in other words: the name, the score, which words are equal.
        long_forms: All names of the long form, if it comes from the list of clinical short forms.
        senses: All that a short form can stand for, if the text leaves it open. Then it has no long form.
    """

    text: str
    long_form: str | None = None
    composite_splits: Sequence[tuple[str, ...]] = ()
    name: str | None = None
    corrections: Mapping[str, str] = MappingProxyType({})
    likely_long_form: str | None = None
    apposition: str | None = None
    other_words: Mapping[str, tuple[str, float, str]] = MappingProxyType({})
    long_forms: Sequence[str] = ()
    senses: Sequence[str] = ()

    def texts(self, *, formulas: bool = True) -> list[str]:
        """Return all texts that `select_variant` looks up, with or without the names of formulas."""
        others = self.long_form, self.likely_long_form, self.name, self.apposition, *self.long_forms
        parts, names = chain.from_iterable(self.composite_splits), map(itemgetter(0), self.other_words.values())
        texts = [self.text, *filter(None, (*others, *parts, *names, *self.corrections.values()))]
        return [*texts, *filter(None, map(self.formula_of, texts))] if formulas else texts

    def formula_of(self, text: str) -> str | None:
        """Return the name of a chemical formula. A short form that the document defines is not a formula."""
        return None if self.long_form is not None or text[:1] in ascii_lowercase else formula_name(text)


class MentionQuery(NamedTuple):
    """A mention to be linked.

    Attributes:
        variants: The texts to look up.
        label: The type that an NER assigned.
    """

    variants: MentionVariants
    label: str = ""

    @property
    def key(self) -> Hashable:
        """What is the same for mentions that are linked in the same way."""
        variants = self.variants
        return (
            self.label,
            variants.text,
            variants.long_form,
            tuple(variants.composite_splits),
            variants.name,
            tuple(variants.corrections.items()),
            variants.likely_long_form,
            variants.apposition,
            tuple(variants.other_words.items()),
            tuple(variants.long_forms),
            tuple(variants.senses),
        )


def with_likely_long_forms(mentions: Sequence[MentionQuery], rules: LanguageRules = ENGLISH) -> list[MentionQuery]:
    """Return the mentions of a document, each short form without a definition with its likely long form.

    That is the text of another mention with the same label, such as "acute liver failure" for "ALF".
    """
    short_forms: dict[str, list[str]] = {}
    for variants, label in mentions:
        if variants.long_form is None and is_acronym(variants.text):
            short_forms.setdefault(label, []).append(variants.text)
    if not short_forms:
        return list(mentions)
    texts: dict[str, list[str]] = {}
    for variants, label in mentions:
        if not is_acronym(variants.text):
            texts.setdefault(label, []).append(variants.text)
    long_forms = {label: likely_long_forms(forms, texts.get(label, ()), rules) for label, forms in short_forms.items()}
    return [
        query._replace(variants=query.variants._replace(likely_long_form=long_form))
        if query.variants.long_form is None
        and (long_form := long_forms.get(query.label, {}).get(query.variants.text)) is not None
        else query
        for query in mentions
    ]


def select_variant(
    variants: MentionVariants,
    look_up: LookUp,
    settings: SelectionSettings,
    agreement: Agreement | None = None,
    threshold: float = THRESHOLD,
    rules: LanguageRules = ENGLISH,
) -> tuple[LinkedPart, ...]:
    """Choose between the variants of a mention by their scores. `SelectionSettings` has the margins.

    A short form that is a name of the vocabulary stays as it is, unless its long form names a concept with the same
    numbers. A symbol with a digit also stays if its concept has most words of the long form. But a short form is not
    linked if the vocabulary has it for something else than the document. The score of a split is the lowest of its
    parts, less `SPLIT_COST` for each more plausible split. With margins of 0 or more, a name of the vocabulary is never
    split or corrected. Parts that all have the same concept are linked as one. The name of a
    chemical formula wins only if the vocabulary has it, and if its score is higher.

    Parts that differ in numbers alone need names with these numbers: "ERK1/2" is split, "gp120/160" is not. For such
    parts, a score above `PART_SCORE` is enough, because the name of a whole has seldom all numbers. It is also enough
    if the whole has the name of one part: "Neurological Disorders" does not cover "neurological and psychiatric
    disorders".

    Args:
        variants: The variants of the mention.
        look_up: Returns the candidates of each of `variants.texts()`, best first.
        settings: The margins, and whether formulas are looked up.
        agreement: Knows what else a short form stands for in the vocabulary. None if nothing does.
        threshold: A link needs a higher score.

    Returns:
        The whole as one part, or the parts.
    """
    if variants.other_words:
        look_up = partial(_look_up_other_words, variants.other_words, look_up)
    whole = _whole(variants, look_up, settings, agreement, threshold, rules)
    if variants.apposition is not None and variants.long_form is None and not _is_exact(whole):
        whole = _beside(variants.apposition, variants, look_up, settings, rules) or whole
    best: tuple[LinkedPart, ...] = (whole,)
    if not variants.composite_splits or (_grade(whole) >= Grade.NEARLY_SAME and settings.split_margin >= 0):
        return best
    best_score = _score(whole) + settings.split_margin
    for rank, split in enumerate(variants.composite_splits):
        parts = tuple(_part(text, None, variants, look_up, settings) for text in split)
        score = min(map(_score, parts)) - SPLIT_COST * rank
        if score > _needed_score(parts, best, best_score, settings.split_margin, rules):
            best, best_score = parts, score
    # "stage II and III carcinoma": all parts have the same concept, which is linked once
    return best[:1] if _is_one(best) else best


def _needed_score(
    parts: Sequence[LinkedPart], best: Sequence[LinkedPart], best_score: float, margin: float, rules: LanguageRules
) -> float:
    """Return the score that a split must exceed. If the whole cannot mean all parts, `PART_SCORE` is enough."""
    is_series = not _is_one(parts) and differ_in_numbers([part.text for part in parts])
    if is_series and not all(_has_numbers(part, rules) for part in parts):
        return inf
    is_surer = len(best) == 1 and (is_series or _has_name_of_part(best[0], parts, rules))
    return min(best_score, PART_SCORE + margin) if is_surer else best_score


def _beside(
    name: str, variants: MentionVariants, look_up: LookUp, settings: SelectionSettings, rules: LanguageRules
) -> LinkedPart | None:
    """Return the name beside a mention as a part, if the vocabulary has it and it may mean the same."""
    if not _may_be_synonym(variants.text, name, rules):
        return None
    beside = _part(name, name, variants, look_up, settings)
    return beside if _grade(beside) >= Grade.NEARLY_SAME else None


def _may_be_synonym(text: str, name: str, rules: LanguageRules) -> bool:
    """Return whether a text may be another name, such as a brand or a code, for what stands beside it.

    A text of several words, or in the plural, is rather a class: "cytotoxic drugs (cisplatin)". A short form may have
    other senses.
    """
    if is_acronym(name) or (" " in text and not any(map(str.isdigit, text))) or _PLURAL.search(text):
        return False
    words, others = set(read_words(text, rules).content), set(read_words(name, rules).content)
    if words <= others or others <= words:
        return False
    return next(contradictions(read_words(text, rules).critical, read_words(name, rules).critical), None) is None


def _whole(
    variants: MentionVariants,
    look_up: LookUp,
    settings: SelectionSettings,
    agreement: Agreement | None,
    threshold: float,
    rules: LanguageRules,
) -> LinkedPart:
    whole = _part(variants.text, None, variants, look_up, settings)
    if variants.senses:
        senses = " or ".join(f"“{sense}”" for sense in variants.senses)
        reason = f"{variants.text} may be {senses} here"
        candidates = [
            candidate if is_sense(candidate.name, variants.senses, rules) else refused(candidate, reason)
            for candidate in whole.candidates
        ]
        return whole._replace(candidates=tuple(ordered(candidates)))
    if variants.name is not None and variants.text not in variants.other_words:
        named = whole._replace(candidates=tuple(look_up(variants.name)))
        whole = named if _score(named) > _score(whole) else whole
    if variants.long_form is not None:
        long_forms = variants.long_forms or (variants.long_form,)
        long = max((_part(form, form, variants, look_up, settings) for form in long_forms), key=_score)
        if agreement is not None:
            whole = agreement.refuse_other_senses(whole, long.long_form or "", all_others=bool(variants.long_forms))
            if _grade(long) < Grade.NEARLY_SAME and agreement.stands_for(whole, variants.long_form):
                return whole
        return _short_or_long(whole, long, settings.short_form_margin, threshold, rules)
    if variants.likely_long_form is not None and not _is_name(variants.text, look_up(variants.text)):
        long = _part(variants.likely_long_form, variants.likely_long_form, variants, look_up, settings)
        whole = long if _score(long) > _score(whole) else whole
    return whole


def _look_up_other_words(
    other_words: Mapping[str, tuple[str, float, str]], look_up: LookUp, text: str
) -> Sequence[Candidate]:
    """Return the candidates of a text. Those with the name that it says in other words come first."""
    candidates = look_up(text)
    if text not in other_words or (candidates and candidates[0].grade >= Grade.REWRITTEN):
        return candidates
    name, similarity, reason = other_words[text]
    named = [(0, reason, candidate) for candidate in look_up(name) if candidate.grade >= Grade.NEARLY_SAME]
    return with_rewritten(candidates, named, similarity) if named else candidates


def _short_or_long(
    short: LinkedPart, long: LinkedPart, margin: float, threshold: float, rules: LanguageRules
) -> LinkedPart:
    """Choose between the short form and the long form that the document defines."""
    is_linked = _score(long) > threshold and long.candidates[0].refusal is None
    is_name = _grade(short) >= Grade.NEARLY_SAME
    gives_way = is_linked and _names_alike(short.text, long.candidates[0], rules)
    if not gives_way if is_name else _score(short) > _score(long) + margin:
        return short
    shown = [candidate for candidate in short.candidates if candidate.refusal and candidate.score > threshold * REFUSED]
    return long._replace(candidates=tuple(ordered([*long.candidates, *shown])))


def _names_alike(short: str, candidate: Candidate, rules: LanguageRules) -> bool:
    """Return whether the name of a long form has the numbers of its short form, or is that long form."""
    of_short, of_name = (Counter(read_words(text, rules).critical.numbers) for text in (short, candidate.name))
    is_same = candidate.grade >= Grade.NEARLY_SAME
    return is_same or of_short == of_name or (candidate.score > ADDED and of_short <= of_name)


def _part(
    text: str, long_form: str | None, variants: MentionVariants, look_up: LookUp, settings: SelectionSettings
) -> LinkedPart:
    written = LinkedPart(text, long_form, tuple(look_up(text)))
    if settings.formulas and (name := variants.formula_of(text)):
        named = LinkedPart(name, long_form, tuple(look_up(name)))
        if named.candidates and read_words(named.candidates[0].name).form == name and _wins(named, written):
            return named
    if text not in variants.corrections:
        return written
    right = variants.corrections[text]
    corrected = LinkedPart(right, long_form, tuple(look_up(right)))
    return corrected if _score(corrected) > _score(written) + settings.spelling_margin else written


def _wins(named: LinkedPart, written: LinkedPart) -> bool:
    """Return whether the name of a formula wins. A name with another case or charge is no better: "NO(+)" for "NO"."""
    first = next(iter(written.candidates), None)
    return first is None or _score(named) > first.score or (_score(named) == first.score and first.name != written.text)


def _is_one(parts: Sequence[LinkedPart]) -> bool:
    """Return whether all parts have the same concept, or none."""
    return len({part.candidates[0].concept_id if part.candidates else None for part in parts}) == 1


def _has_name_of_part(whole: LinkedPart, parts: Sequence[LinkedPart], rules: LanguageRules) -> bool:
    """Return whether the whole is linked to one part, to which its name is closer, and lacks the words of another.

    The parts must have different concepts, and each a name with more than the words that all parts share. The name must
    have the last word of its part: "tumors" in "von Hippel-Lindau disease-associated tumors" is another thing.
    """
    firsts = {part.candidates[0].concept_id: part.candidates[0] for part in parts if part.candidates}
    if len(firsts) < len(parts) or not 0 < _score(whole) < ALMOST_SAME:
        return False
    named = firsts.get(whole.candidates[0].concept_id)
    if named is None or named.score <= _score(whole):
        return False
    words = [frozenset(read_words(part.text, rules).content) for part in parts]
    shared = frozenset.intersection(*words)
    of_whole = read_words(whole.candidates[0].name, rules).content
    last = next(read_words(part.text, rules).content[-1:] for part in parts if part.candidates[0] is named)
    if not any(key.startswith(word[:_STEM]) for word in last for key in of_whole):
        return False
    lacks_part = any(own > shared and (own - shared).isdisjoint(of_whole) for own in words)
    return lacks_part and not any(shared.issuperset(read_words(first.name, rules).content) for first in firsts.values())


def _has_numbers(part: LinkedPart, rules: LanguageRules) -> bool:
    """Return whether the first candidate has the numbers and letters of a part. A single word must be its name."""
    is_name = _is_exact(part)
    if is_name or " " not in part.text:
        return is_name
    return read_words(part.candidates[0].name, rules).critical.include(read_words(part.text, rules).critical)


def _is_exact(part: LinkedPart) -> bool:
    """Return whether a part is a name of its first candidate, or another way to write one."""
    return _grade(part) >= Grade.REWRITTEN


def _is_name(text: str, candidates: Sequence[Candidate]) -> bool:
    """Return whether a text is a name of one of its candidates."""
    form = read_words(text).form
    return any(read_words(candidate.name).form == form for candidate in candidates)


def _grade(part: LinkedPart) -> Grade:
    return part.candidates[0].grade if part.candidates else Grade.REFUSED


def _score(part: LinkedPart) -> float:
    return part.candidates[0].score if part.candidates else 0.0
