"""Measure how well composite mentions are split, against the parts that a corpus annotates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from spacy.tokens import Span

from ..metrics.composites import compare_parts, is_exact, score_parts
from ..metrics.counts import SetCounts
from ..pipeline.factories import LINKER
from ..pipeline.tokenizer import blank_pipeline
from ..text.composites import composite_splits
from ..types import Mention

Split = Callable[[str], Sequence[str]]
"""Returns the parts of a mention's text, or no parts if it is not split."""

SPANS_KEY = "composites"

_CONNECTOR = re.compile(r"\b(?:and|or)\b|[,/]", re.IGNORECASE)


def first_split(text: str) -> Sequence[str]:
    """Return the parts of the most likely split, judged by the words alone."""
    return next(iter(composite_splits(text)), ())


def decide_by(kb: str, encoder: str = "starter") -> Split:
    """Return a function that splits a text as a linker decides, each text on its own.

    Args:
        kb: "starter", or the path of a knowledge base.
        encoder: As for the `sapbert_linker`.
    """
    nlp = blank_pipeline("en")
    splitter: Any = nlp.add_pipe("composite_splitter", config={"spans_key": SPANS_KEY})
    linker: Any = nlp.add_pipe(LINKER, config={"kb": kb, "encoder": encoder, "spans_key": SPANS_KEY})
    assert linker.linker  # opens it now, so that errors come before the corpus is read

    def split(text: str) -> Sequence[str]:
        doc = nlp.make_doc(text)
        doc.spans[SPANS_KEY] = [Span(doc, 0, len(doc))]
        ((parts,),) = linker.predict([splitter(doc)])
        return [part.text for part in parts] if len(parts) > 1 else []

    return split


def evaluate_composites(
    mentions: Iterable[Mention], split: Split = first_split, decide: Split | None = None
) -> dict[str, Any]:
    """Compare the parts of each mention with its gold parts. The number of gold ids is not used.

    Parts are compared as a set, with case and blanks folded. A mention that is not split has no predicted parts.
    Corpora also annotate parts of mentions without a coordination ("hemorrhagic cystitis"), so there are two groups.

    Args:
        mentions: The mentions of the types to measure.
        split: Splits by the words alone.
        decide: Makes the final decision, such as the result of `decide_by`.

    Returns:
        The groups `connector` and `no_connector`, `wrong_splits` and `errors`, and with `decide` also `decided`. Both
        groups have mentions with gold parts, with or without "and", "or", a comma or a slash. A group has the count `n`
        and the percentages `exact` (all parts right), `part_p`, `part_r` and `part_f1` (0 if the denominator is 0).
        `decided` is the group `connector` after `decide`. `wrong_splits` counts `n` split mentions `of` those with a
        connector, at most one id and no gold parts. They are split by `decide` if given, or else by `split`. `errors`
        has the texts of wrong mentions in `connector` and `wrong_splits`, with gold and predicted parts.
    """
    connector, no_connector, decided, singles = _Group(), _Group(), _Group(), _Group()
    for mention in mentions:
        has_connector = _CONNECTOR.search(mention.text) is not None
        if mention.parts:
            (connector if has_connector else no_connector).add(mention, split(mention.text))
        if has_connector and (mention.parts or len(mention.ids) <= 1):
            (decided if mention.parts else singles).add(mention, (decide or split)(mention.text))
    return {
        "connector": score_parts(connector.counts),
        "no_connector": score_parts(no_connector.counts),
        "wrong_splits": {"n": len(singles.errors), "of": len(singles.counts)},
        **({"decided": score_parts(decided.counts)} if decide else {}),
        "errors": {"connector": connector.errors, "wrong_splits": singles.errors},
    }


class _Group:
    """The counts of one group of mentions, and its wrong mentions."""

    def __init__(self) -> None:
        self.counts: list[SetCounts] = []
        self.errors: list[dict[str, Any]] = []

    def add(self, mention: Mention, predicted: Sequence[str]) -> None:
        self.counts.append(compare_parts(mention.parts, predicted))
        if not is_exact(self.counts[-1]):
            self.errors.append({"text": mention.text, "gold": list(mention.parts), "predicted": list(predicted)})
