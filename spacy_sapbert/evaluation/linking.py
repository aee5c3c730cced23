"""Measure how often a pipeline links gold mentions to the right concepts, by `metrics.linking_accuracy`.

The mentions are given. There is no threshold and no NIL. The linker does not know the number of gold ids of a mention.

A corpus can be measured fold by fold, with one pipeline, or with one that is trained for each fold.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from spacy.language import Language

from ..documents.docbin import write_docbin
from ..documents.docs import to_doc
from ..errors import ChoiceError, EmptyError, MismatchError, NotFoundError, OptionError
from ..files.output import ScratchFolder, kept_result
from ..kb.knowledge_base import KnowledgeBase
from ..kb.search import NameIndex
from ..metrics.linking_accuracy import (
    CUTOFFS,
    RECALL_CUTOFF,
    Ids,
    MentionScore,
    gold_concepts,
    lenient_at,
    strict_at,
    summarize,
)
from ..metrics.uncertainty import deviation_of, error_of, mean_of
from ..pipeline.tokenizer import blank_pipeline, load_pipeline
from ..text.normalize import biosyn
from ..training.ranker_trainer import folds_of
from ..training.settings import RerankerTraining
from ..types import Document
from .running import GoldMentions, LinkedMention, find_linker, link_corpus, predictions_file


def evaluate_linking(
    nlp: Language,
    documents: Iterable[Document],
    *,
    type: str | None = None,
    predictions: Path | None = None,
    each: Callable[[LinkedMention, MentionScore], object] | None = None,
) -> dict[str, Any]:
    """Measure how a pipeline links the gold mentions of a corpus.

    Of the pipeline, only these components run: `abbreviation_resolver` (or scispaCy's `abbreviation_detector`),
    `composite_splitter`, `spelling_corrector` and `sapbert_linker`. A document that occurs twice counts twice.

    Args:
        documents: The documents, read in batches.
        type: Measure only mentions with this label.
        predictions: Write a JSON line for each mention to this file. The file appears when it is complete.
        each: A function that is called with every mention and its score, for example to report errors.

    Returns:
        Counts, and accuracies as percentages, or None if nothing counts. The counts are `mentions` (with a gold id) and
        `covered` (with all gold ids in the vocabulary). `lenient` and `strict` have `acc@1` and `acc@5` over the
        covered mentions; `lenient_all` and `strict_all` over all mentions. `exact_match_floor` is the share of covered
        mentions that a lookup of normalized names gets right. `candidate_recall@20` is the lenient accuracy at 20.
        `se` has the standard errors of `lenient` and `strict` accuracy at 1, over documents.
        `slices` has groups of covered mentions, each with the count `n`, `lenient` and `strict`. Mentions are `seen` if
        their normalized text is a name of the vocabulary, or else `unseen`. `abbreviation` has mentions with a resolved
        short form. `composite` has mentions with several gold ids.

    Raises:
        SapbertError: The pipeline has no linker, no mention has a gold id, or none of these ids is in the vocabulary.
            Reading the documents and writing the file can raise further errors.
    """
    scorer = _Scorer(find_linker(nlp).kb)
    scores: list[MentionScore] = []
    doc_ids: list[str] = []
    with predictions_file(predictions) as write:
        for linked in link_corpus(nlp, documents, type):
            score = scorer(linked)
            scores.append(score)
            doc_ids.append(linked.doc_id)
            write(_prediction(linked, score))
            if each:
                each(linked, score)
    return summarize(scores, doc_ids)


class _Scorer:
    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._names = NameIndex(kb, biosyn)
        self._ids = lru_cache(maxsize=100_000)(lambda concept_id: frozenset(kb.ids(concept_id)))

    def __call__(self, linked: LinkedMention) -> MentionScore:
        gold = gold_concepts(linked.mention.ids, self._kb.find_id)
        parts = [[self._ids(candidate.concept_id) for candidate in part.candidates] for part in linked.parts]
        return MentionScore(
            all(self._kb.find_id(concept_id) for concept_id in linked.mention.ids),
            {k: lenient_at(k, gold, parts) for k in (*CUTOFFS, RECALL_CUTOFF)},
            {k: strict_at(k, gold, parts) for k in CUTOFFS},
            self._is_exact_match(linked, gold),
            tuple(self._slices(linked)),
        )

    def _is_exact_match(self, linked: LinkedMention, gold: Collection[Ids]) -> bool:
        concept_ids = self._names.owners(linked.long_form) if linked.long_form else []
        concept_ids = concept_ids or self._names.owners(linked.mention.text)
        return lenient_at(1, gold, [[frozenset().union(*map(self._ids, concept_ids))]])

    def _slices(self, linked: LinkedMention) -> Iterator[str]:
        yield "seen" if self._names.owners(linked.mention.text) else "unseen"
        if linked.long_form is not None:
            yield "abbreviation"
        if len(linked.mention.ids) > 1:
            yield "composite"


def _prediction(linked: LinkedMention, score: MentionScore) -> dict[str, Any]:
    start, end, text, label, gold, *_ = linked.mention
    parts: list[dict[str, Any]] = []
    for part in linked.parts:
        first = part.candidates[:RECALL_CUTOFF]
        candidates = [{"id": id, "score": similarity, "name": name} for id, similarity, name, *_ in first]
        parts.append({"text": part.text, "long_form": part.long_form, "candidates": candidates})
    return {
        "doc_id": linked.doc_id,
        "start": start,
        "end": end,
        "text": text,
        "label": label,
        "gold": list(gold),
        "covered": score.covered,
        "long_form": linked.long_form,
        "parts": parts,
        "lenient": {f"acc@{k}": score.lenient[k] for k in CUTOFFS},
        "strict": {f"acc@{k}": score.strict[k] for k in CUTOFFS},
        "slices": list(score.slices),
    }


# --- several folds


TRAIN = "train"
_FILE = re.compile(r"\bfold-(\d+)\.(\w+)\.\w+(\.gz)?$")
_NONE: Mapping[str, Any] = MappingProxyType({})


class Fold(NamedTuple):
    """A fold: its number, the documents to train on, and those to measure."""

    number: int
    training: Sequence[Document]
    measured: Sequence[Document]


def fold_files(folder: Path, parts: Sequence[str]) -> dict[int, list[Path]]:
    """Return some parts of each fold of a folder such as AskAPatient's: `AskAPatient.fold-0.train.txt`."""
    if not folder.is_dir():
        remedy = "Give a folder of folds. For a corpus in one file, use --folds."
        raise NotFoundError(remedy, what=f"folder {folder}")
    files: defaultdict[int, dict[str, Path]] = defaultdict(dict)
    for path in sorted(folder.iterdir()):
        if match := _FILE.search(path.name):
            other = files[int(match[1])].setdefault(match[2], path)
            if other != path:
                reason = f"{other.name} and {path.name} are the same part of a fold"
                raise MismatchError("Give a folder with one corpus.", path=folder, reason=reason)
    if not files:
        remedy = "Its name must be like AskAPatient.fold-0.train.txt."
        raise EmptyError(remedy, what=f"file of a fold in {folder}", consequence="nothing can be measured")
    for number, found in files.items():
        for part in set(parts) - found.keys():
            raise ChoiceError(given=part, what=f"part of fold {number} in {folder}", choices=found)
    return {number: [files[number][part] for part in parts] for number in sorted(files)}


def read_folds(files: Mapping[int, Sequence[Path]], read: Callable[[Path], Iterable[Document]]) -> Iterator[Fold]:
    """Yield the folds of files, each when it is needed: the part to measure, and the part to train on, if any."""
    for number, (measured, *training) in files.items():
        yield Fold(number, [document for path in training for document in read(path)], list(read(measured)))


def draw_folds(documents: Sequence[Document], n_folds: int) -> Iterator[Fold]:
    """Yield folds drawn over documents, always the same ones. Documents with the same id share a fold."""
    ids = [document.doc_id for document in documents]
    if len(set(ids)) < n_folds:
        raise OptionError(option=f"--folds {n_folds}", reason=f"the corpus has {len(set(ids))} documents")
    drawn = list(zip(documents, folds_of(ids, RerankerTraining(folds=n_folds)).tolist(), strict=True))
    for number in range(n_folds):
        yield Fold(number, *([one for one, of in drawn if (of == number) is inside] for inside in (False, True)))


@contextmanager
def trained_pipeline(
    config: Path, overrides: Mapping[str, Any], fold: Fold, seed: int | None = None
) -> Iterator[Language]:
    """Train a pipeline on a fold as `spacy train` does, and yield it as it is after the last step.

    The development documents are those to measure, so that the log shows them. They decide nothing: training does not
    stop early, and the best model is not used.

    Args:
        config: A config with the settings `paths.train` and `paths.dev`.
        overrides: Values for other settings.
        seed: Takes the place of that of the config.
    """
    from spacy.cli._util import show_validation_error
    from spacy.cli.train import train
    from spacy.util import load_config

    given = {**overrides, "training.patience": 0}
    given |= {} if seed is None else {"system.seed": seed, "training.seed": seed}
    with show_validation_error(config):
        nlp = blank_pipeline(load_config(config, overrides=dict(overrides))["nlp"]["lang"])
    with ScratchFolder() as folder:
        for name, documents in {"train": fold.training, "dev": fold.measured}.items():
            given[f"paths.{name}"] = str(folder / f"{name}.spacy")
            write_docbin((to_doc(nlp, one, split_tokens=True) for one in documents), folder / f"{name}.spacy")
        with redirect_stdout(sys.stderr):  # standard output is for the results
            train(config, folder, overrides=given)
        yield load_pipeline(str(folder / "model-last"))


def evaluate_folds(
    folds: Iterable[Fold],
    pipeline: Language | Path,
    *,
    folder: Path,
    type: str | None = None,
    seeds: int = 1,
    overrides: Mapping[str, Any] = _NONE,
) -> dict[str, Any]:
    """Measure the linking of each fold, by `evaluate_linking`, and average over folds.

    Args:
        pipeline: A pipeline, or a config with which one is trained for each fold.
        folder: The folder that keeps the measures of each fold and seed. What is there is not measured again.
        type: Train and measure only with mentions of this label.
        seeds: The number of seeds with which each fold is trained. If there is only one, the config has it.
        overrides: Values for settings of the config.

    Returns:
        `runs` has the measures of each fold and seed. `mean` has the same measures, averaged over seeds and then over
        folds. `se` has their standard errors over folds. With several seeds, `sd` has the standard deviations over
        seeds of the averages over folds.
    """
    runs = []
    for fold in folds:
        for seed in range(seeds) if seeds > 1 else [None]:
            measure = partial(_measure, fold, pipeline, overrides, type, seed)
            measures = kept_result(folder / f"fold-{fold.number}-seed-{seed}.json", measure)
            runs.append({"fold": fold.number, "seed": seed, "measures": measures})
    folds_means = list(averages(runs, "fold").values())
    result = {"runs": runs, "mean": mean_of(folds_means), "se": error_of(folds_means)}
    return result | ({"sd": deviation_of(list(averages(runs, "seed").values()))} if seeds > 1 else {})


def _measure(
    fold: Fold, pipeline: Language | Path, overrides: Mapping[str, Any], type: str | None, seed: int | None
) -> dict[str, Any]:
    chosen = Fold(fold.number, *(list(GoldMentions(type)(documents)) for documents in fold[1:]))
    with (
        trained_pipeline(pipeline, overrides, chosen, seed)
        if isinstance(pipeline, Path)
        else nullcontext(pipeline) as nlp
    ):
        measures = evaluate_linking(nlp, fold.measured, type=type)
    del measures["se"]  # over the documents of one fold
    return measures


def averages(runs: Iterable[Mapping[str, Any]], key: str) -> dict[int, dict[str, Any]]:
    """Return the measures of each fold, averaged over seeds; or those of each seed, averaged over folds."""
    groups: defaultdict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for run in runs:
        groups[run[key]].append(run["measures"])
    return {value: mean_of(measures) for value, measures in groups.items()}
