"""Measure how much corrections help, with the gold annotations as the reviewer.

    python benchmarks/review.py PIPELINE CORPUS [--ids FILE] [--type T] [--scope corpus] [--held-out CORPUS] [--retrain]

The pipeline links the documents of CORPUS. Then the reviewer takes one mention after the other, in each order of the
review page and at random, and decides as the gold annotations say. After some numbers of corrections, the F1 of the
links is measured: a link is right if its place and its concepts are those of a gold mention. With --held-out, the
corrections also act on documents that nobody reviewed. With --retrain, the decided mentions become names of the
vocabulary, and the linker links the held-out documents again, without corrections and with them. Intervals of 95 % come
from documents drawn with replacement.
"""

import argparse
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import numpy as np
from common import new_parser
from rich.console import Console

from spacy_sapbert.documents.input_documents import Problems
from spacy_sapbert.documents.reader import DocumentIds, read_corpus
from spacy_sapbert.kb.mentions import TRAINING_SOURCE, add_training_mentions
from spacy_sapbert.metrics.uncertainty import f1_of_all, resample_f1
from spacy_sapbert.review.corrections import Added, Correction, Decisions, document_key
from spacy_sapbert.review.corrections_file import CorrectionsFile
from spacy_sapbert.review.export import reviewed_documents
from spacy_sapbert.review.queue import ORDERS, ReviewMention, ReviewQueue, decision_of, review_mentions
from spacy_sapbert.runs.document_linker import LinkingPipeline, LinkSettings
from spacy_sapbert.text.words import is_acronym
from spacy_sapbert.types import Document, Mention

CORPUS = "reviewed"
Gold = dict[tuple[str, int, int], tuple[str, ...]]


class Documents:
    """Documents with their gold mentions and links."""

    def __init__(self, linking: LinkingPipeline, documents: Sequence[Document], type: str | None) -> None:
        self.documents = documents
        self.texts = {document_key(one.text): one.text for one in documents}
        find = linking.kb.find_id
        self.gold: Gold = {}
        for document in documents:
            for one in self._of_type([document], type)[0]:
                if one.ids:
                    ids = tuple(sorted({(find(each) or (each,))[0] for each in one.ids}))
                    self.gold[document_key(document.text), one.start, one.end] = ids
        given = self._of_type(documents, type) if linking.settings.given else [()] * len(documents)
        inputs = [
            Document(one.doc_id, one.text, mentions, position=one.doc_id)
            for one, mentions in zip(documents, given, strict=True)
        ]
        self.mentions = [mention for record in linking(inputs) for mention in review_mentions(record)]

    @staticmethod
    def _of_type(documents: Sequence[Document], type: str | None) -> list[tuple[Mention, ...]]:
        return [tuple(one for one in document.mentions if type in (None, one.label)) for document in documents]

    def counts(self, decisions: Decisions) -> np.ndarray:
        """RETURNS: hits, predicted and gold links of each document, shape (documents, 1, 3)."""
        rows = {key: row for row, key in enumerate(self.texts)}
        counts = np.zeros((len(rows), 1, 3))
        predicted: Gold = {}
        added = {key: decisions.added(key, text) for key, text in self.texts.items()}
        for mention in self.mentions:
            link = mention.link
            ids = decided_ids(mention, decisions, added[link.document])
            if ids:
                predicted[link.document, link.start, link.end] = ids
        for key, text in self.texts.items():
            for one in added[key]:
                found = decisions.of(key, one.start, one.end, text[one.start : one.end], one.label)
                predicted[key, one.start, one.end] = tuple(sorted(found.concept_ids or ()))
        for place, ids in predicted.items():
            counts[rows[place[0]], 0] += (self.gold.get(place) == ids, 1, 0)
        for place, ids in self.gold.items():
            counts[rows[place[0]], 0, 2] += bool(ids)
        return counts


def decided_ids(mention: ReviewMention, decisions: Decisions, added: Sequence[Added]) -> tuple[str, ...]:
    found = decision_of(mention.link, decisions, added)
    if found is None:
        return tuple(sorted(mention.link.concept_ids))
    if found.is_no_mention:
        return ()
    if found.concept_ids is not None:
        return tuple(sorted(found.concept_ids))
    return tuple(sorted({*mention.link.concept_ids} - found.rejected))


class Reviewer:
    """Decides as the gold annotations say.

    Args:
        documents: The documents.
        scope: The scope of a correction for a mention.
    """

    def __init__(self, documents: Documents, scope: Callable[[ReviewMention], str]) -> None:
        self.documents = documents
        self.scope = scope

    def decide(self, mention: ReviewMention) -> Iterator[Correction]:
        link, scope = mention.link, self.scope(mention)
        place = (link.document, link.start, link.end)
        gold = self.documents.gold.get(place)
        if gold is None:
            longer = list(self._others(mention, scope))
            yield from longer or [Correction("no_mention", scope, *place, link.text)]
        elif not gold:
            if mention.best:
                yield Correction("reject", scope, *place, link.text, mention.best)
        else:
            action = "accept" if tuple(sorted(link.concept_ids)) == gold else "replace"
            yield Correction(action, scope, *place, link.text, gold)

    def _others(self, mention: ReviewMention, scope: str) -> Iterator[Correction]:
        """The gold mentions that overlap a wrong one."""
        link = mention.link
        text = self.documents.texts[link.document]
        for (key, start, end), ids in self.documents.gold.items():
            if key == link.document and start < link.end and link.start < end and ids:
                yield Correction("add", scope, key, start, end, text[start:end], ids)


def review(
    queue: ReviewQueue,
    reviewer: Reviewer,
    checkpoints: Sequence[int],
    measure: Callable[[Decisions], Any],
    corrections: dict[int, Correction],
) -> dict[int, Any]:
    """Review until the last checkpoint, and write to `corrections`. RETURNS: what `measure` says at each."""
    corpora = {key: [CORPUS] for key in reviewer.documents.texts}
    measured: dict[int, Any] = {}
    skipped: set[int] = set()
    left = sorted(checkpoints)
    while left:
        while left and len(corrections) >= left[0]:
            measured[left.pop(0)] = measure(Decisions(corrections.values(), corpora))
        number = queue.next(skipped)
        if number is None:
            break
        made = list(reviewer.decide(queue.mentions[number]))
        if not made:
            skipped.add(number)
        corrections.update(dict(enumerate(made, start=len(corrections))))
        queue.update(corrections, corpora)
    for checkpoint in left:
        measured[checkpoint] = measure(Decisions(corrections.values(), corpora))
    return measured


def written(reviewed: Documents, corrections: dict[int, Correction], path: Path) -> CorrectionsFile:
    """A file with the corrections."""
    file = CorrectionsFile(path, create=True)
    file.add_documents(((key, text) for key, text in reviewed.texts.items()), CORPUS)
    file.set_links(reviewed.texts, (one.link for one in reviewed.mentions))
    file.add(corrections.values())
    return file


def obeyed(
    args: argparse.Namespace, reviewed: Documents, corrections: dict[int, Correction], linking: LinkingPipeline
) -> np.ndarray:
    """The counts of a pipeline that reads the corrections, which should be those of the reviewer."""
    with TemporaryDirectory() as folder:
        again = LinkingPipeline(LinkSettings(args.pipeline, args.gold), linking.problems)
        again.set_corrections(str(written(reviewed, corrections, Path(folder) / "corrections.db").path))
        return Documents(again, reviewed.documents, args.type).counts(Decisions([], {}))


def retrained(
    args: argparse.Namespace, reviewed: Documents, corrections: dict[int, Correction], linking: LinkingPipeline
) -> LinkingPipeline:
    """A linker whose vocabulary has the decided mentions as names, as BioSyn's protocol adds those of training data."""
    with TemporaryDirectory() as folder:
        file = written(reviewed, corrections, Path(folder) / "corrections.db")
        documents = list(reviewed_documents(file, Counter()))
    kb = add_training_mentions(linking.kb, documents, TRAINING_SOURCE, Path(mkdtemp()) / "names.kb")
    again = LinkingPipeline(LinkSettings(args.pipeline, args.gold), linking.problems)
    for name in again.nlp.pipe_names:
        if hasattr(again.nlp.get_pipe(name), "set_kb"):
            again.nlp.get_pipe(name).set_kb(str(kb.path))
    return again


def shuffled(seed: int) -> Callable[[Any], float]:
    generator = random.Random(seed)
    return lambda group: generator.random()


def with_interval(counts: np.ndarray, before: np.ndarray) -> dict[str, float]:
    """RETURNS: F1, and the gain with its interval."""
    gains = resample_f1(before, counts, resamples=2000)[:, 0]
    low, high = np.percentile(gains, [2.5, 97.5])
    f1 = float(f1_of_all(counts)[0])
    return {
        "f1": round(f1, 2),
        "gain": round(f1 - float(f1_of_all(before)[0]), 2),
        "low": round(float(low), 2),
        "high": round(float(high), 2),
    }


def scope_of(mention: ReviewMention, *, policy: str) -> str:
    """The scope that a policy gives to a mention."""
    if policy == "careful":
        return "occurrence" if is_acronym(mention.link.text) else "corpus"
    return policy


def main() -> None:
    parser = new_parser(__doc__, data=False)
    parser.add_argument("pipeline")
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--ids", type=Path, help="the documents to review; default: all")
    parser.add_argument("--type")
    parser.add_argument("--gold", action="store_true", help="link the gold mentions")
    parser.add_argument("--scope", default="corpus")
    parser.add_argument("--held-out", type=Path)
    parser.add_argument("--held-out-ids", type=Path)
    parser.add_argument("--retrain", action="store_true")
    parser.add_argument("--corrections", type=int, nargs="+", default=[50, 100, 200, 400])
    args = parser.parse_args()
    linking = LinkingPipeline(LinkSettings(args.pipeline, args.gold), Problems(Console(stderr=True)))
    read = lambda path, ids: list(read_corpus(path, ids=DocumentIds(ids) if ids else None))  # noqa: E731
    reviewed = Documents(linking, read(args.corpus, args.ids), args.type)
    measured = {"reviewed": reviewed}
    if args.held_out:
        measured["held_out"] = Documents(linking, read(args.held_out, args.held_out_ids), args.type)
    nothing = Decisions([], {})
    before = {name: one.counts(nothing) for name, one in measured.items()}

    def measure(decisions: Decisions) -> dict[str, Any]:
        return {name: with_interval(one.counts(decisions), before[name]) for name, one in measured.items()}

    reviewer = Reviewer(reviewed, partial(scope_of, policy=args.scope))
    orders = {**ORDERS, **{f"random-{seed}": shuffled(seed) for seed in range(3)}}
    made: dict[str, dict[int, Correction]] = {name: {} for name in orders}
    result: dict[str, Any] = {}
    for name, order in orders.items():
        queue = ReviewQueue(reviewed.mentions, order, reviewed.texts)
        result[name] = review(queue, reviewer, args.corrections, measure, made[name])
    best = made["expected-errors"]
    result["expected-errors"]["obeyed"] = {
        "reviewed": with_interval(obeyed(args, reviewed, best, linking), before["reviewed"])
    }
    if args.retrain:
        for name in ("expected-errors", "random-0"):
            again = retrained(args, reviewed, made[name], linking)
            linked = Documents(again, read(args.held_out, args.held_out_ids), args.type)
            everywhere = Decisions(made[name].values(), {})
            result[name]["retrained"] = {"held_out": with_interval(linked.counts(nothing), before["held_out"])}
            result[name]["both"] = {"held_out": with_interval(linked.counts(everywhere), before["held_out"])}
    facts = {
        "documents": len(reviewed.texts),
        "mentions": len(reviewed.mentions),
        "scope": args.scope,
        "before": {name: round(float(f1_of_all(counts)[0]), 2) for name, counts in before.items()},
    }
    print(json.dumps({**facts, "orders": result}, indent=1))


if __name__ == "__main__":
    main()
