"""Compare two prediction files: is one pipeline better than the other, or is the difference chance?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadRecordError, EmptyError, Errors, SapbertError
from ..files.opening import open_text
from ..files.values import parse_json
from ..metrics.uncertainty import RESAMPLES, SEED, describe_difference, f1_of_all, resample_f1, resample_means

Line = Mapping[str, Any]
Row = tuple[tuple[Any, ...], list[Any]]
"""What both files must have in a line, beginning with the id of the document; and the figures that are compared."""
Differences = tuple[list[float], list[float], np.ndarray]


def compare_predictions(a: Path, b: Path, *, resamples: int = RESAMPLES, seed: int = SEED) -> dict[str, Any]:
    """Compare two prediction files of `evaluate_linking`, `evaluate_concepts` or `evaluate_pipeline`, both of the same
    one.

    For links, all mentions with a gold id count, because the two vocabularies may cover different mentions. Each of the
    bootstrap samples draws as many documents as there are.

    Returns:
        The counts `mentions` and `documents`, and one entry per measure. For links, `lenient` and `strict` each have
            `acc@1` and `acc@5`. For documents, the measures are `r@10`, `r@5` and `map`, averaged over documents; 10
            stands for the number of predicted concepts. For pipelines, they are the F1 of `ner`, `span_id` and
            `document_id`, over all documents together. Each entry is that of `describe_difference`.

    Raises:
        SapbertError: A line is broken, the files are about different documents, mentions or concepts, or there are
            fewer than two documents.
    """
    first = next((line for _, line in read_predictions(a)), {})
    kind = _Concepts if "ranked" in first else _Pipelines if "found" in first else _Links
    one, other = kind(a), kind(b)
    _check_same_items(a, b, one.rows, other.rows)
    documents = {key: number for number, key in enumerate(dict.fromkeys(one.documents))}
    if len(documents) < 2:
        consequence = "the test, which draws documents, says nothing"
        raise EmptyError("Evaluate on a larger corpus.", what=f"second document in {a}", consequence=consequence)
    numbers = np.array([documents[key] for key in one.documents])
    differences = map(describe_difference, *one.differences(other, numbers, resamples=resamples, seed=seed))
    return one.result(len(documents), list(differences))


class _Concepts:
    """Predictions of `evaluate concepts`: a line is a document, and figures are averaged over documents."""

    def __init__(self, path: Path) -> None:
        self.rows: list[Row] = _read(path, self.row)
        self.figures = np.array([figures for _, figures in self.rows], dtype=float)

    @staticmethod
    def row(line: Line) -> Row:
        names = tuple(name for name in line if name.startswith("r@") or name == "ap")
        if not names:
            raise ValueError("there are no measures")
        return (str(line["doc_id"]), tuple(map(str, line["gold"])), names), [float(line[name]) for name in names]

    @property
    def documents(self) -> Sequence[Any]:
        """The document of each row. One that occurs twice counts as two."""
        return range(len(self.rows))

    def differences(self, other: _Concepts, numbers: np.ndarray, **draws: int) -> Differences:
        """Return the figures of both, and the resampled differences of each. `numbers` has the document of each row."""
        sizes = np.bincount(numbers)
        gains = np.zeros((len(sizes), self.figures.shape[1]))
        np.add.at(gains, numbers, other.figures - self.figures)
        a, b = (100 * figures.mean(axis=0) for figures in (self.figures, other.figures))
        return a.tolist(), b.tolist(), resample_means(gains, sizes, **draws).T

    def result(self, documents: int, differences: Sequence[Any]) -> dict[str, Any]:
        names = ("map" if name == "ap" else name for name in self.rows[0][0][-1])
        return {"documents": documents, **dict(zip(names, differences, strict=True))}


class _Pipelines(_Concepts):
    """Predictions of `evaluate pipeline`: a line is a document, and F1 is that of all documents together."""

    MEASURES = ("ner", "span_id", "document_id")

    @staticmethod
    def row(line: Line) -> Row:
        gold = (f"{item['start']} {item['end']} {item['label']} {'|'.join(item['ids'])}" for item in line["gold"])
        counts = [[int(line[name][count]) for count in ("right", "found", "gold")] for name in _Pipelines.MEASURES]
        return (str(line["doc_id"]), tuple(gold)), counts

    def differences(self, other: _Concepts, numbers: np.ndarray, **draws: int) -> Differences:
        a, b = self.figures, other.figures
        return f1_of_all(a).tolist(), f1_of_all(b).tolist(), resample_f1(a, b, **draws).T

    def result(self, documents: int, differences: Sequence[Any]) -> dict[str, Any]:
        return {"documents": documents, **dict(zip(self.MEASURES, differences, strict=True))}


class _Links(_Concepts):
    """Predictions of `evaluate linking`: a line is a mention, and figures are averaged over mentions."""

    CUTOFFS = ("acc@1", "acc@5")

    @staticmethod
    def row(line: Line) -> Row:
        mention = str(line["doc_id"]), int(line["start"]), int(line["end"]), str(line["label"])
        figures = [bool(line[kind][cutoff]) for kind in ("lenient", "strict") for cutoff in _Links.CUTOFFS]
        return (*mention, tuple(map(str, line["gold"]))), figures

    @property
    def documents(self) -> Sequence[Any]:
        return [key[0] for key, _ in self.rows]

    def result(self, documents: int, differences: Sequence[Any]) -> dict[str, Any]:
        kinds = {"lenient": differences[:2], "strict": differences[2:]}
        named = {kind: dict(zip(self.CUTOFFS, some, strict=True)) for kind, some in kinds.items()}
        return {"mentions": len(self.rows), "documents": documents, **named}


def read_predictions(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line of a predictions file, and its values."""
    with open_text(path) as lines:
        for number, text in enumerate(lines, start=1):
            try:
                line = parse_json(text)
            except ValueError as error:
                raise _broken(path, number, error) from error
            if not isinstance(line, dict):
                raise _broken(path, number, "it is not a JSON object")
            yield number, line


def _broken(path: Path, number: int, reason: object) -> BadRecordError:
    remedy = "Create the file with --predictions of `evaluate linking`, `evaluate concepts` or `evaluate pipeline`."
    return BadRecordError(remedy, path=path, line=number, reason=f"this is not a line of predictions ({reason})")


def _read(path: Path, read: Callable[[Line], Row]) -> list[Row]:
    rows = []
    for number, line in read_predictions(path):
        try:
            rows.append(read(line))
        except (KeyError, TypeError, ValueError) as error:
            raise _broken(path, number, repr(error)) from error
    return sorted(rows)


def _check_same_items(a: Path, b: Path, rows_a: list[Row], rows_b: list[Row]) -> None:
    items_a, items_b = (Counter(key for key, _ in rows) for rows in (rows_a, rows_b))
    only_a, only_b = items_a - items_b, items_b - items_a
    for doc_id, *rest in [*only_a, *only_b][:1]:
        example = f"document {doc_id}" + (f", {rest[0]}-{rest[1]}" if len(rest) > 2 else "")
        raise SapbertError(Errors.E514.format(a=a, b=b, n_a=only_a.total(), n_b=only_b.total(), example=example))
