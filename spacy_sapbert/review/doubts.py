"""Kinds of links that are wrong more often than their probability says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ..text.languages import ENGLISH
from ..text.words import case_counts, is_acronym, is_general

if TYPE_CHECKING:
    from .queue import ReviewMention

SHORT_FORM = "a short form that the document does not define"
GENERAL = "a general word"
CASE = "the name is in capitals"
OTHER_WORDS = "other words than the name"
NEAR = "another concept is nearly as probable"
SHARES: Mapping[str, float] = MappingProxyType({SHORT_FORM: 0.5, GENERAL: 0.3, CASE: 0.2, OTHER_WORDS: 0.1, NEAR: 0.1})
"""The share of each kind that is wrong, apart from what the probability says.

Chosen on training documents of NCBI Disease, BC5CDR (diseases and chemicals) and NLM-Gene.
"""
NEAR_PROBABILITY = 0.2
USUAL = 0.2
"""With a greater share of short forms among the texts of a label, they are its usual names, such as gene symbols."""


def doubts_of(mentions: Sequence[ReviewMention], language: str = ENGLISH.code) -> list[tuple[str, ...]]:
    """Return the kinds of doubt for each mention, see `SHARES`. Mentions without a link have none."""
    texts: dict[tuple[str, str], bool] = {}
    for mention in mentions:
        key = mention.link.text, mention.link.label
        texts[key] = texts.get(key, True) and _is_undefined(mention)
    labels = Counter(label for _, label in texts)
    short = Counter(label for (_, label), is_short in texts.items() if is_short)
    usual = {label for label, n in labels.items() if short[label] > USUAL * n}
    kinds = []
    for mention in mentions:
        text, label, links = mention.link.text, mention.link.label, mention.entity.get("links", ())
        applies = {
            SHORT_FORM: label not in usual and _is_undefined(mention),
            GENERAL: language == ENGLISH.code and any(map(is_general, (text, text.removesuffix("s")))),
            CASE: any(map(_differs_in_case, links)),
            OTHER_WORDS: any(link.get("reasons") for link in links),
            NEAR: any(map(_is_near, links)),
        }
        kinds.append(tuple(kind for kind, holds in applies.items() if holds and mention.link.concept_ids))
    return kinds


def _is_undefined(mention: ReviewMention) -> bool:
    text = mention.link.text
    is_short = is_acronym(text) or case_counts(text)
    return is_short and not any(link.get("long_form") for link in mention.entity.get("links", ()))


def _differs_in_case(link: Mapping[str, Any]) -> bool:
    """Return whether a text that is not in capitals is a name in capitals: "star" for STAR."""
    text, name = link.get("text") or "", link.get("name") or ""
    return name.isupper() and not text.isupper() and name.lower() == text.lower() and not link.get("long_form")


def _is_near(link: Mapping[str, Any]) -> bool:
    other = link.get("runner_up") or {}
    return bool(link.get("tie")) or (other.get("probability") or 0) >= NEAR_PROBABILITY
