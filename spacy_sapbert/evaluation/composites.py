"""How well composite mentions are split, against the single mentions that a corpus writes for them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..text.composites import readings as readings_by_syntax
from ..types import Mention

Readings = Callable[[str], Sequence[Sequence[str]]]

_CONNECTOR = re.compile(r"\b(?:and|or)\b|[,/]", re.IGNORECASE)


def evaluate_composites(
    mentions: Iterable[Mention],
    readings: Readings = readings_by_syntax,
    whole_names: Callable[[str], bool] | None = None,
) -> dict[str, Any]:
    """Compare the first reading of each mention with its gold parts. Nothing is told the number of gold ids.

    Parts are compared as a set, case and blanks folded. A mention without a reading has no predicted parts. Corpora
    also write parts for mentions that are no coordination ("hemorrhagic cystitis"), hence two groups.

    mentions (Iterable[Mention]): of the types that are to be measured.
    readings (Callable): from a text to its readings, best first.
    whole_names (Callable | None): whether a text is a name of the vocabulary; such a text is not split.
    RETURNS (dict): `connector` and `no_connector`, the mentions with gold parts and with or without "and", "or", comma
        or slash: counts `n`, percentages `exact` (all parts right), `part_p`, `part_r`, `part_f1` (0 where there is
        nothing to divide by); `wrong_splits`: `n` mentions with a reading `of` those that have a connector, one id at
        most and no gold parts; `errors`: the texts behind both, with gold and predicted parts.
    """
    connector, no_connector, singles = _Group(), _Group(), _Group()
    for mention in mentions:
        has_connector = _CONNECTOR.search(mention.text) is not None
        if not mention.parts and not (has_connector and len(mention.ids) <= 1):
            continue
        whole = whole_names is not None and whole_names(mention.text)
        predicted = () if whole else next(iter(readings(mention.text)), ())
        group = singles if not mention.parts else connector if has_connector else no_connector
        group.add(mention, predicted)
    return {
        "connector": connector.scores(),
        "no_connector": no_connector.scores(),
        "wrong_splits": {"n": len(singles.errors), "of": singles.n},
        "errors": {"connector": connector.errors, "wrong_splits": singles.errors},
    }


class _Group:
    """Counts over the mentions of one kind."""

    def __init__(self) -> None:
        self.n = self.right = self.predicted = self.gold = 0
        self.errors: list[dict[str, Any]] = []

    def add(self, mention: Mention, predicted: Sequence[str]) -> None:
        wanted, found = _folded(mention.parts), _folded(predicted)
        self.n += 1
        self.right += len(wanted & found)
        self.gold += len(wanted)
        self.predicted += len(found)
        if wanted != found:
            self.errors.append({"text": mention.text, "gold": list(mention.parts), "predicted": list(predicted)})

    def scores(self) -> dict[str, Any]:
        return {
            "n": self.n,
            "exact": _percent(self.n - len(self.errors), self.n),
            "part_p": _percent(self.right, self.predicted),
            "part_r": _percent(self.right, self.gold),
            "part_f1": _percent(2 * self.right, self.gold + self.predicted),
        }


def _folded(parts: Sequence[str]) -> set[str]:
    return {" ".join(part.casefold().split()) for part in parts}


def _percent(count: int, total: int) -> float:
    return round(100 * count / total, 2) if total else 0.0
