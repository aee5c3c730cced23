"""`ReviewSession`: what the review page shows and does, without a server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from ..errors import Errors, SapbertError
from ..kb.search import search_names
from ..outputs.addresses import concept_url
from ..outputs.labels import LabelColors, display_label
from ..review.correction import ACCEPT, ADD, CORPUS, REJECT, REPLACE, Correction, ProposedLink
from ..review.corrections_file import CorrectionsFile
from ..review.decisions import Decision, Decisions
from ..review.mentions import Record, ReviewMention, review_mentions
from ..review.queue import COVERED, Group, ReviewQueue, by_expected_errors
from ..runs.pipelines import LinkingPipeline
from ..text.snippets import snippet

CANDIDATES = 9  # one digit key each
EXAMPLES = 6
RECENT = 8
SYNONYMS = 6
FOUND = 12
MOST_NAMES = 500_000
"""In larger vocabularies, a search for words takes too long while typing. There, n-grams find names."""
COVERED_NUMBER = 0
"""Stands for the correction of a mention that an added one overlaps. Those in the file begin with 1."""
REACH = 6000
"""The most characters of a document that are shown on each side of a mention."""
LEASE = 600.0
"""For so many seconds, a mention that one window shows is not the next one of another window."""


class ReviewSession:
    """A review of linked documents. All that is decided is in the file at once.

    Args:
        file: The corrections.
        linking: The pipeline, whose vocabulary is searched.
        records: The linked documents, see `io.records.record_of`. Their links should be those without corrections.
        corpus: The name of the corpus, for corrections that hold in all its documents.
        author: Who reviews.
        blind: Hide what others decided, to measure the agreement of two reviewers.
        order: The order of the texts, see `queue.ORDERS`.

    Raises:
        SapbertError: E374 the file cannot be written. E377 the corrections were made for another vocabulary.
    """

    def __init__(
        self,
        file: CorrectionsFile,
        linking: LinkingPipeline,
        records: Iterable[Record],
        *,
        corpus: str,
        author: str,
        blind: bool = False,
        order: Callable[[Group], float] = by_expected_errors,
    ) -> None:
        self.file = file
        self.kb = linking.kb
        self.author = author
        self._blind = blind
        self._candidates = linking.candidates
        self._colors = LabelColors()
        self._texts: dict[str, str] = {}
        self._windows: dict[str, tuple[int, float]] = {}
        self._later: dict[str, set[int]] = {}
        self._state: tuple[int, int] | None = None
        self._check_vocabulary()  # first, so that links to another vocabulary do not replace those in the file
        mentions = list(self._read(records, corpus))
        self.queue = ReviewQueue(mentions, order, self._texts)
        self.labels = sorted({one.link.label for one in mentions if one.link.label})
        self.refresh()

    def _read(self, records: Iterable[Record], corpus: str) -> Iterator[ReviewMention]:
        """Yield the mentions of records, and write the documents and their links to the file."""
        stream = iter(records)
        while batch := list(islice(stream, 500)):
            mentions = [one for record in batch for one in review_mentions(record)]
            keys = self.file.add_documents(((record["id"], record["text"]) for record in batch), corpus)
            self._texts.update(zip(keys, (record["text"] for record in batch), strict=True))
            self.file.set_links(keys, (one.link for one in mentions))
            yield from mentions

    def _check_vocabulary(self) -> None:
        wanted = {one for each in self.file.corrections().values() for one in each.concept_ids}
        if wanted and not any(map(self.kb.find_id, wanted)):
            raise SapbertError(Errors.E377.format(path=self.file.path, n=len(wanted), example=min(wanted)))

    # --- what is decided

    def refresh(self) -> None:
        """Take over what other windows wrote to the file."""
        state = self.file.state
        if state != self._state:
            self._state = state
            self._corrections = {
                number: one
                for number, one in self.file.corrections().items()
                if not self._blind or one.author == self.author
            }
            corpora = self.file.corpora()
            self._decisions = Decisions(self._corrections.values(), corpora)
            self.queue.update(self._corrections, corpora)

    def next(self, window: str, *, later: int | None = None) -> int | None:
        """Return the number of the mention that a window should show next; None if all are decided.

        Args:
            window: The id of the window. Other windows get other mentions, as long as there are any.
            later: A mention that this window puts off until the others are decided.
        """
        self.refresh()
        put_off = self._later.setdefault(window, set())
        if later is not None:
            put_off.update(self.queue.group(later))
        elsewhere = self._shown_elsewhere(window)
        number = self.queue.next(put_off | elsewhere)
        if number is None:
            put_off.clear()
            number = self.queue.next(elsewhere)
        return self.queue.next() if number is None else number

    def _shown_elsewhere(self, window: str) -> set[int]:
        now = time.monotonic()
        shown = (number for other, (number, at) in self._windows.items() if other != window and now - at < LEASE)
        return {one for number in shown for one in self.queue.group(number)}

    def decide(
        self,
        number: int,
        action: str,
        *,
        concept_ids: Sequence[str] = (),
        scope: str = CORPUS,
        comment: str = "",
    ) -> int:
        """Write a decision about a mention.

        Accepting a mention without a link rejects its best candidate.

        Args:
            number: The mention.
            action: "accept", "reject", "replace" or "no_mention".
            concept_ids: The concepts that replace the linked ones.
            scope: Where it holds.
            comment: A remark.

        Returns:
            The number of the correction.

        Raises:
            SapbertError: E371 the decision cannot be. E374 the file cannot be written. E376 the vocabulary lacks a
                concept.
        """
        one = self.queue.mentions[number]
        ids: Sequence[str] = ()
        if action == ACCEPT and not one.link.concept_ids:
            action, ids = (REJECT, one.best) if one.best else (ADD, ())
        elif action in (ACCEPT, REJECT):
            ids = one.best
        elif action == REPLACE:
            ids = self._known(concept_ids)
        label = one.link.label if self.queue.needs_label(number) else ""
        return self._write(action, scope, *one.link[:4], ids, label, comment)

    def add(
        self,
        document: str,
        start: int,
        end: int,
        *,
        concept_ids: Sequence[str] = (),
        label: str = "",
        scope: str = CORPUS,
        comment: str = "",
    ) -> int:
        """Write a mention that was missed.

        Args:
            document: The key of the document.
            start: The first character.
            end: The position after the last character.
            concept_ids: The concepts that are meant, or none.
            label: The label of the mention.
            scope: Where it holds.
            comment: A remark.

        Returns:
            The number of the correction.

        Raises:
            SapbertError: As for `decide`; E371 also for a place outside the text.
        """
        whole = self._texts.get(document, "")
        text = whole[start:end] if 0 <= start < end <= len(whole) else ""
        return self._write(ADD, scope, document, start, end, text, self._known(concept_ids), label, comment)

    def undo(self, number: int) -> bool:
        """Undo a correction. Returns whether there was one to undo. Those of others are not there in a blind review."""
        self.refresh()
        return number in self._corrections and self.file.undo(number)

    def correction(self, number: int) -> dict[str, Any]:
        """Return a correction as the page shows it."""
        return self._said(number, self._corrections[number])

    def mention_of(self, number: int) -> int | None:
        """Return the mention that a correction was made at; None if there is none at its place, or no correction."""
        one = self._corrections.get(number)
        found = self.queue.of_document(one.document) if one else ()
        links = ((other, self.queue.mentions[other].link) for other in found)
        return next((other for other, link in links if one and (link.start, link.end) == (one.start, one.end)), None)

    def color(self, label: str) -> int:
        """Return the number of the color of a label."""
        return self._colors[label]

    def _known(self, concept_ids: Sequence[str]) -> tuple[str, ...]:
        for one in concept_ids:
            if not self.kb.find_id(one):
                raise SapbertError(Errors.E376.format(id=one))
        return tuple(dict.fromkeys(self.kb.find_id(one)[0] for one in concept_ids))

    def _write(
        self,
        action: str,
        scope: str,
        document: str,
        start: int,
        end: int,
        text: str,
        ids: Sequence[str],
        label: str,
        comment: str,
    ) -> int:
        one = Correction(
            action, scope, document, start, end, text, tuple(ids), label, author=self.author, comment=comment
        )
        (number,) = self.file.add([one])
        self.refresh()
        return number

    # --- what is shown

    def view(self, number: int, window: str) -> dict[str, Any]:
        """Return all that the page shows of a mention, as JSON values.

        Args:
            number: The mention.
            window: The id of the window that shows it.
        """
        self.refresh()
        self._windows[window] = number, time.monotonic()
        one = self.queue.mentions[number]
        group = self.queue.group(number)
        return {
            "number": number,
            "text": one.link.text,
            "doc_id": one.doc_id,
            "document": one.link.document,
            "label": display_label(one.link.label),
            "color": self._colors[one.link.label],
            "mentions": len(group),
            "open": sum(self.queue.decision(other) is None for other in group),
            "documents": len({self.queue.mentions[other].link.document for other in group}),
            "snippets": [self._example(other) for other in group if other != number][:EXAMPLES],
            "links": [self._link(link) for link in one.entity["links"]],
            "candidates": self._alternatives(one),
            "linked": list(one.link.concept_ids),
            "decision": self._decision(one.link, self.queue.decision(number)),
            "disagrees": self.queue.disagrees(number),
            **self._pieces(one, number),
        }

    def progress(self) -> dict[str, Any]:
        """Return how far the review is, and the latest corrections."""
        self.refresh()
        recent = [(number, one) for number, one in self._corrections.items()][: -RECENT - 1 : -1]
        return {**self.queue.progress._asdict(), "recent": [self._said(number, one) for number, one in recent]}

    def search(self, text: str, *, by_meaning: bool) -> list[dict[str, Any]]:
        """Return the concepts that fit a text, best first: those with an id or a name like it, or those like it."""
        if not text.strip():
            return []
        if by_meaning or self.kb.n_names > MOST_NAMES:
            found = [(one.concept_id, one.score, one.name) for one in self._candidates(text, FOUND)]
        else:
            ids = ((concept_id, 1.0, concept_id) for concept_id in self.kb.find_id(text.strip()))
            found = [*ids, *search_names(self.kb, text, FOUND)][:FOUND]
        return self._described(found)

    def concept(self, concept_id: str) -> dict[str, Any]:
        """Return the card of a concept, as JSON values."""
        found = self.kb.get(concept_id)
        card: dict[str, Any] = {"id": concept_id, "url": concept_url(concept_id), "name": concept_id}
        if found is None:
            return card
        parents = self.kb.labels_of([one for parent in found.parents for one in self.kb.find_id(parent)])
        return {
            **card,
            "name": found.canonical_name,
            "types": list(map(display_label, found.types)),
            "definition": found.definition,
            "synonyms": list(found.aliases[:SYNONYMS]),
            "more_synonyms": max(0, len(found.aliases) - SYNONYMS),
            "parents": [
                {"id": one, "name": label.preferred or one, "url": concept_url(one)} for one, label in parents.items()
            ],
        }

    def _link(self, link: Record) -> dict[str, Any]:
        """Return a link of the record with the card of its concept, or of the best candidate."""
        rejected = link["rejected"] or {}
        concept_id = link["concept_id"] or rejected.get("concept_id")
        shown = ("text", "score", "probability", "name", "long_form", "split", "reason", "tie", "reasons")
        return {
            **{name: link.get(name) for name in shown},
            "is_linked": bool(link["concept_id"]),
            "concept": self.concept(concept_id) if concept_id else None,
        }

    def _alternatives(self, one: ReviewMention) -> list[dict[str, Any]]:
        """Return the candidates for the text that was looked up, without those that are linked."""
        links = one.entity["links"]
        text = links[0]["text"] if len(links) == 1 else one.link.text
        found = (
            (each.concept_id, each.score, each.name) for each in self._candidates(text, CANDIDATES + len(one.best))
        )
        return self._described([each for each in found if each[0] not in one.best][:CANDIDATES])

    def _described(self, found: Sequence[tuple[str, float, str]]) -> list[dict[str, Any]]:
        first: dict[str, tuple[str, float, str]] = {}
        for each in found:
            first.setdefault(each[0], each)
        labels = self.kb.labels_of(list(first))
        return [
            {
                "id": concept_id,
                "url": concept_url(concept_id),
                "name": labels[concept_id].preferred or concept_id,
                "types": list(map(display_label, labels[concept_id].types)),
                "matched": name,
                "score": score,
            }
            for concept_id, score, name in first.values()
        ]

    def _example(self, number: int) -> dict[str, Any]:
        link = self.queue.mentions[number].link
        return {
            "number": number,
            "doc_id": self.queue.mentions[number].doc_id,
            "snippet": snippet(self._texts[link.document], link.start, link.end),
            "decided": self.queue.decision(number) is not None,
        }

    def _pieces(self, one: ReviewMention, number: int) -> dict[str, Any]:
        """Return the text around a mention in pieces, each with the number of its mention, if it is one."""
        text = self._texts[one.link.document]
        first, last = max(0, one.link.start - REACH), min(len(text), one.link.end + REACH)
        pieces: list[dict[str, Any]] = []
        end = first
        for start, stop, mark in self._marks(one, number):
            if start >= end and stop <= last:
                pieces += [{"text": text[end:start]}, {"text": text[start:stop], **mark}]
                end = stop
        pieces.append({"text": text[end:last]})
        return {"pieces": pieces, "start": first, "is_cut": [first > 0, last < len(text)]}

    def _marks(self, one: ReviewMention, number: int) -> list[tuple[int, int, dict[str, Any]]]:
        """Return the marks of a document that do not overlap: this mention first, added ones, then the longest."""
        link = one.link
        others = sorted(self.queue.of_document(link.document), key=lambda other: self._place(other, number))
        this, *rest = [self._mark(other) for other in others]
        added = self._decisions.added(link.document, self._texts[link.document])
        marks = [this]
        marks += [(each.start, each.end, {"color": self._colors[each.label], "state": "added"}) for each in added]
        marks += rest
        kept: dict[int, tuple[int, int, dict[str, Any]]] = {}
        taken: set[int] = set()
        for start, end, mark in marks:
            if taken.isdisjoint(range(start, end)):
                taken.update(range(start, end))
                kept[start] = start, end, mark
        return [kept[start] for start in sorted(kept)]

    def _place(self, other: int, number: int) -> tuple[bool, int, int]:
        link = self.queue.mentions[other].link
        return other != number, link.start - link.end, link.start

    def _mark(self, number: int) -> tuple[int, int, dict[str, Any]]:
        link, decision = self.queue.mentions[number].link, self.queue.decision(number)
        state = "open" if decision is None else "none" if decision.is_no_mention else "decided"
        mark = {"number": number, "color": self._colors[link.label], "state": state, "linked": bool(link.concept_ids)}
        return link.start, link.end, mark

    def _decision(self, link: ProposedLink, decision: Decision | None) -> dict[str, Any] | None:
        """Return the correction that decided a mention; the latest one, if several rejected its concepts."""
        if decision is None:
            return None
        if decision is COVERED:
            return {"number": COVERED_NUMBER, "action": "covered"}
        if decision.correction is None:
            applying = chain.from_iterable(self._decisions.corrections_of(*link[:5]))
            deciding = [correction for correction in applying if correction.action == REJECT]
        else:
            deciding = [decision.correction]
        # by value: the decision may hold an object of an earlier reading of the file
        latest = (number for number, one in reversed(self._corrections.items()) if one in deciding)
        return next((self._said(number, self._corrections[number]) for number in latest), None)

    def _said(self, number: int, one: Correction) -> dict[str, Any]:
        labels = self.kb.labels_of(one.concept_ids)
        names = {each: label.preferred for each, label in labels.items()}
        return {
            "number": number,
            **{name: getattr(one, name) for name in ("action", "scope", "text", "author", "date", "comment")},
            "concepts": [{"id": each, "name": names.get(each) or each} for each in one.concept_ids],
        }
