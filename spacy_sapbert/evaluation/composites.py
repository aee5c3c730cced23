"""How well composite mentions are split, against the single mentions that a corpus writes for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import spacy
from spacy.tokens import Span

from ..metrics.composites import compare_parts, is_exact, score_parts
from ..metrics.counts import SetCounts
from ..pipeline.factories import LINKER
from ..text.composites import composite_splits
from ..types import Mention

Split = Callable[[str], Sequence[str]]
"""From the text of a mention to its parts; none where it is not split."""

SPANS_KEY = "composites"

_CONNECTOR = re.compile(r"\b(?:and|or)\b|[,/]", re.IGNORECASE)


def first_split(text: str) -> Sequence[str]:
    """Return the parts of the reading that the words alone make likeliest."""
    return next(iter(composite_splits(text)), ())


def decide_by(kb: str, encoder: str = "starter") -> Split:
    """Return what a linker decides to split, each text by itself.

    Args:
        kb: "starter", or the path of a store.
        encoder: as for the `sapbert_linker`.

    Raises:
        SapbertError: the vocabulary or the encoder cannot be opened.
    """
    nlp = spacy.blank("en")
    splitter: Any = nlp.add_pipe("composite_splitter", config={"spans_key": SPANS_KEY})
    linker: Any = nlp.add_pipe(LINKER, config={"kb": kb, "encoder": encoder, "spans_key": SPANS_KEY})
    assert linker.linker  # opened now, not after the corpus was read

    def split(text: str) -> Sequence[str]:
        doc = nlp.make_doc(text)
        doc.spans[SPANS_KEY] = [Span(doc, 0, len(doc))]
        ((parts,),) = linker.predict([splitter(doc)])
        return [part.text for part in parts] if len(parts) > 1 else []

    return split


def evaluate_composites(
    mentions: Iterable[Mention], split: Split = first_split, decide: Split | None = None
) -> dict[str, Any]:
    """Compare the parts of each mention with its gold parts. Nothing is told the number of gold ids.

    Parts are compared as a set, case and blanks folded. A mention that is not split has no predicted parts. Corpora
    also write parts for mentions that are no coordination ("hemorrhagic cystitis"), hence two groups.

    Args:
        mentions: of the types that are to be measured.
        split: what the words alone give.
        decide: what becomes of that in the end, such as `decide_by` gives.

    Returns:
        dict: `connector` and `no_connector`, the mentions with gold parts and with or without "and", "or", comma or
            slash: counts `n`, percentages `exact` (all parts right), `part_p`, `part_r`, `part_f1` (0 where there is
            nothing to divide by). `wrong_splits`: `n` mentions that are split `of` those that have a connector, one id
            at most and no gold parts; after `decide`, where it is given, and by `split` else. With `decide` also
            `decided`: `connector` after it. `errors`: the texts behind `connector` and `wrong_splits`, with gold and
            predicted parts.
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
    """The mentions of one kind, as counts, and those that are wrong."""

    def __init__(self) -> None:
        self.counts: list[SetCounts] = []
        self.errors: list[dict[str, Any]] = []

    def add(self, mention: Mention, predicted: Sequence[str]) -> None:
        self.counts.append(compare_parts(mention.parts, predicted))
        if not is_exact(self.counts[-1]):
            self.errors.append({"text": mention.text, "gold": list(mention.parts), "predicted": list(predicted)})
