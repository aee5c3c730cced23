"""Compare two prediction files: is one pipeline better than the other, or is the difference chance?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import BadRecordError, EmptyError, Errors, SapbertError
from ..files.opening import open_text
from ..files.values import parse_json
from ..metrics.uncertainty import RESAMPLES, SEED, describe_difference, f1_of_all, resample_f1, resample_means

CUTOFFS = ("acc@1", "acc@5")
PIPELINE_MEASURES = ("ner", "span_id", "document_id")

Line = Mapping[str, Any]
Row = tuple[tuple[Any, ...], list[Any]]
"""What both files must have in a line, beginning with the id of the document; and the figures that are compared."""


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
    read = _ranking if "ranked" in first else _pipeline if "found" in first else _link
    rows_a, rows_b = _read(a, read), _read(b, read)
    _check_same_items(a, b, rows_a, rows_b)
    # the lines of links are mentions, and several can be of one document; all others are documents
    keys = [(key[0] if read is _link else number) for number, (key, _) in enumerate(rows_a)]
    documents = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    if len(documents) < 2:
        consequence = "the test, which draws documents, says nothing"
        raise EmptyError("Evaluate on a larger corpus.", what=f"second document in {a}", consequence=consequence)
    table_a, table_b = (np.array([figures for _, figures in rows], dtype=float) for rows in (rows_a, rows_b))
    if read is _pipeline:
        resampled = resample_f1(table_a, table_b, resamples=resamples, seed=seed)
        differences = _differences(f1_of_all(table_a), f1_of_all(table_b), resampled)
        return {"documents": len(documents), **dict(zip(PIPELINE_MEASURES, differences, strict=True))}
    gains, numbers = np.zeros((len(documents), table_a.shape[1])), [documents[key] for key in keys]
    np.add.at(gains, numbers, table_b - table_a)
    resampled = resample_means(gains, np.bincount(numbers), resamples=resamples, seed=seed)
    differences = _differences(100 * table_a.mean(axis=0), 100 * table_b.mean(axis=0), resampled)
    if read is _link:
        lenient, strict = (dict(zip(CUTOFFS, part, strict=True)) for part in (differences[:2], differences[2:]))
        return {"mentions": len(rows_a), "documents": len(documents), "lenient": lenient, "strict": strict}
    names = ("map" if name == "ap" else name for name in _measures(first))
    return {"documents": len(documents), **dict(zip(names, differences, strict=True))}


def _differences(a: np.ndarray, b: np.ndarray, resampled: np.ndarray) -> list[dict[str, float]]:
    return list(map(describe_difference, a.tolist(), b.tolist(), resampled.T))


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


def _link(line: Line) -> Row:
    mention = str(line["doc_id"]), int(line["start"]), int(line["end"]), str(line["label"])
    figures = [bool(line[kind][cutoff]) for kind in ("lenient", "strict") for cutoff in CUTOFFS]
    return (*mention, tuple(map(str, line["gold"]))), figures


def _ranking(line: Line) -> Row:
    names = _measures(line)
    if not names:
        raise ValueError("there are no measures")
    key = str(line["doc_id"]), tuple(map(str, line["gold"])), tuple(names)
    return key, [float(line[name]) for name in names]


def _measures(line: Line) -> list[str]:
    return [name for name in line if name.startswith("r@") or name == "ap"]


def _pipeline(line: Line) -> Row:
    gold = (f"{item['start']} {item['end']} {item['label']} {'|'.join(item['ids'])}" for item in line["gold"])
    counts = [[int(line[measure][name]) for name in ("right", "found", "gold")] for measure in PIPELINE_MEASURES]
    return (str(line["doc_id"]), tuple(gold)), counts


def _check_same_items(a: Path, b: Path, rows_a: list[Row], rows_b: list[Row]) -> None:
    items_a, items_b = (Counter(key for key, _ in rows) for rows in (rows_a, rows_b))
    only_a, only_b = items_a - items_b, items_b - items_a
    for doc_id, *rest in [*only_a, *only_b][:1]:
        example = f"document {doc_id}" + (f", {rest[0]}-{rest[1]}" if len(rest) > 2 else "")
        raise SapbertError(Errors.E514.format(a=a, b=b, n_a=only_a.total(), n_b=only_b.total(), example=example))
