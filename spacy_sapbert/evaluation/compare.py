"""Compare two prediction files: is one pipeline better than the other, or is the difference chance?"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import Errors, SapbertError
from ..metrics.bootstrap import RESAMPLES, SEED, describe_difference, f1_of_all, resample_f1, resample_means
from .predictions import read_predictions

MEASURES = (("lenient", "acc@1"), ("lenient", "acc@5"), ("strict", "acc@1"), ("strict", "acc@5"))
PIPELINE_MEASURES = ("ner", "span_id", "document_id")


class _Mention(NamedTuple):
    """The key of a mention, equal in every prediction file for the same corpus."""

    doc_id: str
    start: int
    end: int
    label: str
    gold: tuple[str, ...]


_Rows = list[tuple[_Mention, tuple[bool, ...]]]


class _Document(NamedTuple):
    """The key of a document with ranked concepts or predicted mentions."""

    doc_id: str
    gold: tuple[str, ...]


def compare_predictions(a: Path, b: Path, *, resamples: int = RESAMPLES, seed: int = SEED) -> dict[str, Any]:
    """Compare two prediction files of `evaluate_linking`, `evaluate_concepts` or `evaluate_pipeline`.

    Both files must come from the same function. For links, all mentions with a gold id count, because the two
    vocabularies may cover different mentions.

    Args:
        a: The first file.
        b: The second file.
        resamples: The number of bootstrap samples. Each sample draws as many documents as there are.
        seed: The seed of the draws.

    Returns:
        The counts `mentions` and `documents`, and one entry per measure. For links, `lenient` and `strict` each have
        `acc@1` and `acc@5`. For documents, the measures are `r@10`, `r@5` and `map`, averaged over documents; 10 stands
        for the number of predicted concepts. For pipelines, they are the F1 of `ner`, `span_id` and `document_id`, over
        all documents together. Each entry has the percentages `a` and `b`, their `difference` b - a in points, and
        `low`, `high` and `p`. `low` and `high` are the ends of the 95 % interval: percentiles of the resampled
        differences. `p` is two-sided: twice the share of resampled differences on the other side of 0, or on it.

    Raises:
        SapbertError: E513 a line is broken. E514 the files have different mentions. E557, E636 the files have different
            documents or concepts. E515 there are fewer than two documents. E120 to E122 a file cannot be read.
    """
    kind = _keys_of_first_line(a)
    if "ranked" in kind:
        return _compare_rankings(a, b, resamples, seed)
    if "found" in kind:
        return _compare_pipelines(a, b, resamples, seed)
    rows_a, rows_b = _read(a), _read(b)
    _check_same_mentions(a, b, rows_a, rows_b)
    sums_a, sums_b, sizes = _by_document(rows_a, rows_b)
    if len(sizes) < 2:
        raise SapbertError(Errors.E515.format(n=len(sizes)))
    resampled = resample_means(sums_b - sums_a, sizes, resamples=resamples, seed=seed)
    result: dict[str, Any] = {"mentions": len(rows_a), "documents": len(sizes), "lenient": {}, "strict": {}}
    for column, (measure, cutoff) in enumerate(MEASURES):
        percent_a, percent_b = (100 * float(sums[:, column].sum()) / len(rows_a) for sums in (sums_a, sums_b))
        result[measure][cutoff] = describe_difference(percent_a, percent_b, resampled[:, column])
    return result


def _read(path: Path) -> _Rows:
    rows = []
    for number, line in read_predictions(path):
        try:
            place = str(line["doc_id"]), int(line["start"]), int(line["end"])
            mention = _Mention(*place, str(line["label"]), tuple(map(str, line["gold"])))
            rows.append((mention, tuple(bool(line[measure][cutoff]) for measure, cutoff in MEASURES)))
        except (KeyError, TypeError, ValueError) as error:
            raise SapbertError(Errors.E513.format(path=path, line=number, reason=repr(error))) from error
    return sorted(rows)


def _check_same_mentions(a: Path, b: Path, rows_a: _Rows, rows_b: _Rows) -> None:
    mentions_a, mentions_b = (Counter(mention for mention, _ in rows) for rows in (rows_a, rows_b))
    only_a, only_b = mentions_a - mentions_b, mentions_b - mentions_a
    for mention in [*only_a, *only_b][:1]:
        example = f"document {mention.doc_id}, {mention.start}-{mention.end}"
        n_a, n_b = only_a.total(), only_b.total()
        raise SapbertError(Errors.E514.format(a=a, b=b, n_a=n_a, n_b=n_b, example=example))


def _keys_of_first_line(path: Path) -> set[str]:
    return {name for _, line in islice(read_predictions(path), 1) for name in line}


def _compare_rankings(a: Path, b: Path, resamples: int, seed: int) -> dict[str, Any]:
    (measures, rows_a), (measures_b, rows_b) = _read_rankings(a), _read_rankings(b)
    documents = [document for document, _ in rows_a]
    if measures != measures_b or documents != [document for document, _ in rows_b]:
        raise SapbertError(Errors.E636.format(a=a, b=b))
    if len(rows_a) < 2:
        raise SapbertError(Errors.E515.format(n=len(rows_a)))
    figures_a, figures_b = (np.array([figures for _, figures in rows]) for rows in (rows_a, rows_b))
    resampled = resample_means(figures_b - figures_a, np.ones(len(rows_a)), resamples=resamples, seed=seed)
    result: dict[str, Any] = {"documents": len(rows_a)}
    for column, measure in enumerate(measures):
        percent_a, percent_b = (100 * float(figures[:, column].mean()) for figures in (figures_a, figures_b))
        name = "map" if measure == "ap" else measure
        result[name] = describe_difference(percent_a, percent_b, resampled[:, column])
    return result


def _read_rankings(path: Path) -> tuple[list[str], list[tuple[_Document, tuple[float, ...]]]]:
    """Return the names of the measures, and the sorted documents with their values."""
    measures: list[str] = []
    rows = []
    for number, line in read_predictions(path):
        measures = measures or [name for name in line if name.startswith("r@") or name == "ap"]
        try:
            document = _Document(str(line["doc_id"]), tuple(map(str, line["gold"])))
            rows.append((document, tuple(float(line[measure]) for measure in measures)))
        except (KeyError, TypeError, ValueError) as error:
            raise SapbertError(Errors.E513.format(path=path, line=number, reason=repr(error))) from error
    return measures, sorted(rows)


def _compare_pipelines(a: Path, b: Path, resamples: int, seed: int) -> dict[str, Any]:
    rows_a, rows_b = _read_pipelines(a), _read_pipelines(b)
    if [document for document, _ in rows_a] != [document for document, _ in rows_b]:
        raise SapbertError(Errors.E557.format(a=a, b=b))
    if len(rows_a) < 2:
        raise SapbertError(Errors.E515.format(n=len(rows_a)))
    table_a, table_b = (np.array([counts for _, counts in rows], dtype=float) for rows in (rows_a, rows_b))
    resampled = resample_f1(table_a, table_b, resamples=resamples, seed=seed)
    f1_a, f1_b = f1_of_all(table_a), f1_of_all(table_b)
    result: dict[str, Any] = {"documents": len(rows_a)}
    for column, measure in enumerate(PIPELINE_MEASURES):
        result[measure] = describe_difference(float(f1_a[column]), float(f1_b[column]), resampled[:, column])
    return result


def _read_pipelines(path: Path) -> list[tuple[_Document, list[list[int]]]]:
    """Return the sorted documents, each with the counts right, found and gold of every measure."""
    rows = []
    for number, line in read_predictions(path):
        try:
            gold = (f"{one['start']} {one['end']} {one['label']} {'|'.join(one['ids'])}" for one in line["gold"])
            counts = [[int(line[measure][n]) for n in ("right", "found", "gold")] for measure in PIPELINE_MEASURES]
            rows.append((_Document(str(line["doc_id"]), tuple(gold)), counts))
        except (KeyError, TypeError, ValueError) as error:
            raise SapbertError(Errors.E513.format(path=path, line=number, reason=repr(error))) from error
    return sorted(rows)


def _by_document(rows_a: _Rows, rows_b: _Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the right mentions of each file, shape (documents, measures), and all mentions, shape (documents,)."""
    names = {doc_id: row for row, doc_id in enumerate(dict.fromkeys(mention.doc_id for mention, _ in rows_a))}
    sums = np.zeros((2, len(names), len(MEASURES)))
    for table, rows in zip(sums, (rows_a, rows_b), strict=True):
        for mention, right in rows:
            table[names[mention.doc_id]] += right
    sizes = np.bincount([names[mention.doc_id] for mention, _ in rows_a]) if rows_a else np.zeros(0)
    return sums[0], sums[1], sizes
