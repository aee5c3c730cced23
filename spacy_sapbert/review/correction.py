"""`Correction`: what a person decided about a mention."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from ..errors import SettingError
from ..text.words import is_acronym

ACCEPT, REPLACE, REJECT, NO_MENTION, ADD = ACTIONS = ("accept", "replace", "reject", "no_mention", "add")
OCCURRENCE, CORPUS, EVERYWHERE = SCOPES = ("occurrence", "corpus", "everywhere")
"""Where a correction holds, the narrowest first: this place, this text in the documents of the corpus, or this text."""
_DECIDING = frozenset({ACCEPT, REPLACE, ADD})
_KEY_LENGTH = 32  # hexadecimal digits


class Correction(NamedTuple):
    """A decision about a mention.

    Attributes:
        action: "accept" the concepts, "replace" them by others, "reject" them, "no_mention": the text is not a mention,
            or "add" a mention that was missed.
        scope: "occurrence", "corpus" or "everywhere".
        document: The `document_key` of the document in which it was decided.
        start: The first character of the mention.
        end: The position after its last character.
        text: The text of the mention.
        concept_ids: The concepts that were accepted, chosen or rejected; several for a composite. Empty for
            "no_mention", and for an added mention without a concept.
        label: The label of the mention. A correction with a label holds for mentions with this label only.
        author: Who decided.
        date: When, in UTC, such as "2026-11-23T18:00:00Z".
        comment: A remark for people.
    """

    action: str
    scope: str
    document: str
    start: int
    end: int
    text: str
    concept_ids: tuple[str, ...] = ()
    label: str = ""
    author: str = ""
    date: str = ""
    comment: str = ""

    @property
    def decides(self) -> bool:
        """Whether it says which concepts are right."""
        return self.action in _DECIDING

    def check(self) -> None:
        """Check the values."""
        rules = (
            ("action", self.action, self.action in ACTIONS, f"one of {', '.join(ACTIONS)}"),
            ("scope", self.scope, self.scope in SCOPES, f"one of {', '.join(SCOPES)}"),
            ("text", self.text, bool(self.text.strip()), "a text"),
            ("end", self.end, 0 <= self.start < self.end, "a position after the start"),
            ("concept_ids", self.concept_ids, self._has_concepts(), "some ids, but none for no_mention"),
        )
        for name, value, holds, wanted in rules:
            if not holds:
                raise SettingError(setting=name, component="a correction", value=repr(value), wanted=wanted)

    def _has_concepts(self) -> bool:
        if self.action in (ADD, NO_MENTION):
            return self.action == ADD or not self.concept_ids
        return bool(self.concept_ids) and all(self.concept_ids)


class ProposedLink(NamedTuple):
    """What a pipeline made of a mention, before anyone corrected it.

    Attributes:
        document: The `document_key` of the document.
        start: The first character of the mention.
        end: The position after its last character.
        text: The text of the mention.
        label: Its label.
        concept_ids: The linked concepts; several for a composite, none if the mention is not linked.
        probability: The lowest probability of its parts; None if the linker is not calibrated. Without a link, it is
            that of the best candidate.
        score: The lowest score of its parts; None if there is no candidate.
    """

    document: str
    start: int
    end: int
    text: str
    label: str = ""
    concept_ids: tuple[str, ...] = ()
    probability: float | None = None
    score: float | None = None


def document_key(text: str) -> str:
    """Return the key of a document: it changes with the text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_KEY_LENGTH]


def text_key(text: str) -> str:
    """Return the form in which texts of mentions count as the same. Short forms keep their case."""
    folded = " ".join(text.split())
    return folded if is_acronym(folded) else folded.casefold()
