"""`ReviewSession`: what the review page shows and does, without a server."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from ..errors import MismatchError, NotFoundError
from ..kb.search import search_names
from ..outputs.pages import LabelColors, display_label, display_type
from ..review.corrections import ACCEPT, ADD, CORPUS, FLAG, REJECT, REPLACE, Correction, Decision, ProposedLink
from ..review.corrections_file import CorrectionsFile
from ..review.queue import COVERED, Group, Record, ReviewMention, ReviewQueue, by_expected_errors, review_mentions
from ..runs.document_linker import LinkingPipeline
from ..text.notes.assertion import FLAGS
from ..text.snippets import snippet
from .page import concept_card, references

CANDIDATES = 9  # one digit key each
EXAMPLES = 6
RECENT = 8
RESULTS = 12
MOST_NAMES = 500_000
"""In larger vocabularies, a search for words takes too long while typing. There, n-grams find names."""
ANY = -1
"""Stands for the correction that a reviewer saw, where none is in the way of a decision."""
COVERED_NUMBER = 0
"""Stands for the correction of a mention that an added one overlaps. Those in the file begin with 1."""
REACH = 6000
"""The most characters of a document that are shown on each side of a mention."""
LEASE = 600.0
"""For so many seconds, a mention that one window shows is not the next one of another window."""
_OF_CONTEXT = ("section", "drug_state", "dosage", "value")
_OF_LINK = ("text", "score", "probability", "name", "long_form", "split", "reason", "tie", "reasons")

Mark = tuple[int, int, dict[str, Any]]
"""The start and end of a mention on the page, and how it looks."""


class Overtaken(Exception):
    """Somebody has decided the same mention since the reviewer looked at it. `args` has the author."""


class ReviewSession:
    """A review of linked documents. All that is decided is in the file at once.

    Args:
        file: The corrections.
        linking: The pipeline, whose vocabulary is searched.
        records: The linked documents, see `outputs.records.record_of`. Their links should be those without corrections.
        corpus: The name of the corpus, for corrections that hold in all its documents.
        author: Who reviews.
        blind: Hide what others decided, to measure the agreement of two reviewers.
        order: The order of the texts, see `queue.ORDERS`.
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
        self._windows: dict[str, tuple[int, float, int]] = {}  # a mention, when it was shown, and the last correction
        self._later: dict[str, set[int]] = {}
        self._state: tuple[int, int] | None = None
        self._check_vocabulary()  # first, so that links to another vocabulary do not replace those in the file
        mentions = list(self._read(records, corpus))
        self.queue = ReviewQueue(mentions, order, self._texts, linking.nlp.lang or "en")
        self._has_flags = any(one.entity.get("assertion") or one.entity.get("section") for one in mentions)
        self.labels = sorted({mention.link.label for mention in mentions if mention.link.label})
        self.refresh()

    def _check_vocabulary(self) -> None:
        ids = {concept_id for correction in self.file.corrections().values() for concept_id in correction.concept_ids}
        if ids and not any(map(self.kb.find_id, ids)):
            raise MismatchError(
                path=self.file.address,
                reason=f"the vocabulary of the pipeline has none of its {len(ids)} concepts, such as {min(ids)}",
                remedy="Give the pipeline with their vocabulary, or another file of corrections.",
            )

    def _read(self, records: Iterable[Record], corpus: str) -> Iterator[ReviewMention]:
        """Yield the mentions of records, and write the documents and their links to the file."""
        stream = iter(records)
        while batch := list(islice(stream, 500)):
            mentions = [mention for record in batch for mention in review_mentions(record)]
            keys = self.file.add_documents(((record["id"], record["text"]) for record in batch), corpus)
            self._texts.update(zip(keys, (record["text"] for record in batch), strict=True))
            self.file.set_links(keys, (mention.link for mention in mentions))
            yield from mentions

    # --- what is decided

    def refresh(self) -> None:
        """Take over what other windows wrote to the file."""
        state = self.file.state
        if state != self._state:
            self._state = state
            self._corrections = {
                number: correction
                for number, correction in self.file.corrections().items()
                if not self._blind or correction.author == self.author
            }
            self.queue.update(self._corrections, self.file.corpora())

    def next(self, window: str, *, later: int | None = None) -> int | None:
        """Return the number of the mention that a window should show next; None if all are decided.

        Other windows get other mentions, as long as there are any. `later` is put off until the others are decided.
        """
        self.refresh()
        put_off = self._later.setdefault(window, set())
        if later is not None:
            put_off.update(self.queue.group(later))
        elsewhere = self._shown_elsewhere(window)
        number = self._unclaimed(put_off | elsewhere, window)
        if number is None:
            put_off.clear()
            number = self._unclaimed(elsewhere, window)
        return self.queue.next() if number is None else number

    def _unclaimed(self, left_out: set[int], window: str) -> int | None:
        """Return the number of the next mention whose text no other machine shows."""
        left_out = set(left_out)
        while (number := self.queue.next(left_out)) is not None:
            if self.file.claim(self.queue.key(number), window, LEASE):
                break
            left_out.update(self.queue.group(number))
        return number

    def _shown_elsewhere(self, window: str) -> set[int]:
        now = time.monotonic()
        shown = (number for other, (number, at, _) in self._windows.items() if other != window and now - at < LEASE)
        return set(chain.from_iterable(map(self.queue.group, shown)))

    def decide(
        self,
        number: int,
        action: str,
        *,
        concept_ids: Sequence[str] = (),
        scope: str = CORPUS,
        comment: str = "",
        seen: int | None = ANY,
        flags: Sequence[str] = (),
    ) -> int:
        """Write a decision about a mention, see `Correction`, and return its number.

        Accepting a mention without a link rejects its best candidate.

        Args:
            seen: The correction that the reviewer saw at the mention; None if it was open.
            flags: The right flags, for the action "flag". It holds for this place.

        Raises:
            Overtaken: There is another correction, and nothing was written.
        """
        mention, ids = self.queue.mentions[number], tuple[str, ...]()
        if action == ACCEPT and not mention.link.concept_ids:
            action, ids = (REJECT, mention.best) if mention.best else (ADD, ())
        elif action in (ACCEPT, REJECT):
            ids = mention.best
        elif action == REPLACE:
            ids = self._primary_ids(concept_ids)
        label = mention.link.label if self.queue.needs_label(number) else ""

        def check() -> None:
            present = self._decision(mention.link, self.queue.decision(number))
            if present and seen not in (ANY, present["number"]):
                raise Overtaken(present.get("author"))

        correction = Correction(action, scope, *mention.link[:4], ids, label, self.author, comment=comment)
        return self._write(correction.with_flags(flags) if action == FLAG else correction, check)

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
        window: str | None = None,
    ) -> int:
        """Write a mention that was missed, see `Correction`, and return the number of the correction.

        Raises:
            Overtaken: Somebody has corrected this place since the window showed the document. Nothing was written.
        """
        whole = self._texts.get(document, "")
        text = whole[start:end] if 0 <= start < end <= len(whole) else ""
        ids = self._primary_ids(concept_ids)
        seen = self._windows.get(window, (0, 0.0, 0))[2] if window is not None else math.inf

        def check() -> None:
            for number, other in self._corrections.items():
                if number > seen and other.document == document and other.start < end and start < other.end:
                    raise Overtaken(other.author)

        correction = Correction(ADD, scope, document, start, end, text, ids, label, self.author, comment=comment)
        return self._write(correction, check)

    def _primary_ids(self, concept_ids: Sequence[str]) -> tuple[str, ...]:
        primary: dict[str, None] = {}
        for concept_id in concept_ids:
            ids = self.kb.find_id(concept_id)
            if not ids:
                remedy = "Search for it by its name, and choose one of the results."
                raise NotFoundError(what=f"concept {concept_id!r} in the vocabulary", remedy=remedy)
            primary[ids[0]] = None
        return tuple(primary)

    def _write(self, correction: Correction, check: Callable[[], None]) -> int:
        """Write a correction if a check finds nothing in its way, also not what others write at this moment."""
        numbers: list[int] = []
        while not numbers:
            self.refresh()
            check()
            numbers = self.file.add([correction], state=self._state)
        self.refresh()
        return numbers[0]

    def undo(self, number: int) -> bool:
        """Undo a correction. Returns whether there was one to undo. Those of others are not there in a blind review."""
        self.refresh()
        return number in self._corrections and self.file.undo(number)

    def mention_of(self, number: int) -> int | None:
        """Return the mention that a correction was made at; None if there is none there, or no such correction."""
        correction = self._corrections.get(number)
        for other in self.queue.of_document(correction.document) if correction else ():
            link = self.queue.mentions[other].link
            if correction and (link.start, link.end) == (correction.start, correction.end):
                return other
        return None

    # --- what is shown

    def view(self, number: int, window: str) -> dict[str, Any]:
        """Return all that a window shows of a mention, as JSON values."""
        self.refresh()
        self._windows[window] = number, time.monotonic(), max(self._corrections, default=0)
        mention = self.queue.mentions[number]
        group = self.queue.group(number)
        return {
            "number": number,
            "text": mention.link.text,
            "doc_id": mention.doc_id,
            "document": mention.link.document,
            "label": display_label(mention.link.label),
            "color": self.color(mention.link.label),
            "mentions": len(group),
            "documents": len({self.queue.mentions[other].link.document for other in group}),
            "snippets": [self._example(other) for other in group if other != number][:EXAMPLES],
            "links": [self._link(link) for link in mention.entity["links"]],
            "candidates": self._alternatives(mention),
            "doubts": mention.often_wrong,
            **self._context(mention),
            "decision": self._decision(mention.link, self.queue.decision(number)),
            "disagrees": self.queue.disagrees(number),
            **self._pieces(mention.link, number),
        }

    def _context(self, mention: ReviewMention) -> dict[str, Any]:
        """Return the flags of a mention, all that there are, its section, and the state of a drug."""
        decided = self.queue.decisions.flags_of(*mention.link[:3])
        flags = mention.entity.get("assertion", ()) if decided is None else decided
        context = {name: mention.entity.get(name) or "" for name in _OF_CONTEXT}
        return {**context, "flags": list(flags), "all_flags": list(FLAGS) if self._has_flags else []}

    def progress(self) -> dict[str, Any]:
        """Return how far the review is, and the latest corrections."""
        self.refresh()
        latest = list(self._corrections)[: -RECENT - 1 : -1]
        return {**self.queue.progress._asdict(), "recent": list(map(self.correction, latest))}

    def correction(self, number: int) -> dict[str, Any]:
        """Return a correction as the page shows it."""
        correction = self._corrections[number]
        concepts = [{"id": concept.id, "name": concept.name} for concept in references(self.kb, correction.concept_ids)]
        fields = ("action", "scope", "text", "author", "date", "comment", "flags")
        return {"number": number, **{name: getattr(correction, name) for name in fields}, "concepts": concepts}

    def search(self, text: str, *, by_meaning: bool) -> list[dict[str, Any]]:
        """Return the concepts that fit a text, best first: those with an id or a name like it, or those like it."""
        if not text.strip():
            return []
        if by_meaning or self.kb.n_names > MOST_NAMES:
            results = [(hit.concept_id, hit.score, hit.name) for hit in self._candidates(text, RESULTS)]
        else:
            results = search_names(self.kb, text, RESULTS)
        return self._described(results)

    def concept(self, concept_id: str) -> dict[str, Any]:
        """Return the card of a concept, as JSON values."""
        card = concept_card(self.kb, concept_id)
        shown = {name: getattr(card, name) for name in ("id", "url", "name", "types", "definition", "synonyms")}
        return {**shown, "parents": [parent.name for parent in card.parents]}

    def color(self, label: str) -> int:
        """Return the number of the color of a label."""
        return self._colors[label]

    def _link(self, link: Record) -> dict[str, Any]:
        """Return a link of the record with the card of its concept, or of the best candidate."""
        concept_id = link["concept_id"] or (link["rejected"] or {}).get("concept_id")
        return {
            **{name: link.get(name) for name in _OF_LINK},
            "is_linked": bool(link["concept_id"]),
            "concept": self.concept(concept_id) if concept_id else None,
        }

    def _alternatives(self, mention: ReviewMention) -> list[dict[str, Any]]:
        """Return the candidates for the text that was looked up, without those that are linked."""
        links = mention.entity["links"]
        text = links[0]["text"] if len(links) == 1 else mention.link.text
        candidates = self._candidates(text, CANDIDATES + len(mention.best))
        others = [(id, score, name) for id, score, name, *_ in candidates if id not in mention.best]
        return self._described(others[:CANDIDATES])

    def _described(self, results: Sequence[tuple[str, float, str]]) -> list[dict[str, Any]]:
        """Return the concepts of results, each an id, a score and a matched name. The first one of a concept counts."""
        best = {result[0]: result for result in reversed(results)}
        ids = list(dict.fromkeys(result[0] for result in results))
        labels = self.kb.labels_of(ids)
        return [
            {
                **concept._asdict(),
                "types": list(map(display_type, labels[concept.id].types)),
                "score": best[concept.id][1],
                "matched": best[concept.id][2],
            }
            for concept in references(self.kb, ids)
        ]

    def _example(self, number: int) -> dict[str, Any]:
        link = self.queue.mentions[number].link
        return {
            "number": number,
            "snippet": snippet(self._texts[link.document], link.start, link.end),
            "decided": self.queue.decision(number) is not None,
        }

    def _pieces(self, link: ProposedLink, number: int) -> dict[str, Any]:
        """Return the text around a mention in pieces, each with the number of its mention, if it is one."""
        text = self._texts[link.document]
        first, last = max(0, link.start - REACH), min(len(text), link.end + REACH)
        pieces: list[dict[str, Any]] = []
        end = first
        for start, stop, mark in self._marks(link, number):
            if start >= end and stop <= last:
                pieces += [{"text": text[end:start]}, {"text": text[start:stop], **mark}]
                end = stop
        pieces.append({"text": text[end:last]})
        return {"pieces": pieces, "start": first, "is_cut": [first > 0, last < len(text)]}

    def _marks(self, link: ProposedLink, number: int) -> list[Mark]:
        """Return the marks of a document that do not overlap: this mention first, added ones, then the longest."""
        marks = [self._mark(other) for other in self.queue.of_document(link.document) if other != number]
        marks.sort(key=lambda mark: (mark[0] - mark[1], mark[0]))
        added = self.queue.decisions.added(link.document, self._texts[link.document])
        added_marks = [
            (mention.start, mention.end, {"color": self.color(mention.label), "state": "added"}) for mention in added
        ]
        free: list[Mark] = []
        taken: set[int] = set()
        for start, end, look in [self._mark(number), *added_marks, *marks]:
            if taken.isdisjoint(range(start, end)):
                taken.update(range(start, end))
                free.append((start, end, look))
        return sorted(free, key=lambda mark: mark[0])

    def _mark(self, number: int) -> Mark:
        link, decision = self.queue.mentions[number].link, self.queue.decision(number)
        state = "open" if decision is None else "none" if decision.is_no_mention else "decided"
        look = {"number": number, "color": self.color(link.label), "state": state, "linked": bool(link.concept_ids)}
        return link.start, link.end, look

    def _decision(self, link: ProposedLink, decision: Decision | None) -> dict[str, Any] | None:
        """Return the correction that decided a mention; the latest one, if several rejected its concepts."""
        if decision is None:
            return None
        if decision is COVERED:
            return {"number": COVERED_NUMBER, "action": "covered"}
        if decision.correction is None:
            applying = chain.from_iterable(self.queue.decisions.corrections_of(*link[:5]))
            deciding = [correction for correction in applying if correction.action == REJECT]
        else:
            deciding = [decision.correction]
        # by value: the decision may hold an object of an earlier reading of the file
        latest = (number for number, correction in reversed(self._corrections.items()) if correction in deciding)
        return next(map(self.correction, latest), None)
