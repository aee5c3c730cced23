"""Link documents to one output: as a stream, or in parts, with which an interrupted run goes on.

The parts of `links.csv` lie in the folder `.links.csv.parts`. Each one holds the records of the documents that were
linked together. A part that is missing or damaged, or whose documents have changed, is linked again. The output is
written from the parts at the end.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ..documents.input_documents import Problems, sound
from ..errors import Errors, SapbertError
from ..files.values import digest_of
from ..types import NIL, Document
from .document_linker import NO_LIMIT, Failure, LinkSettings, View, cut, linker_of
from .engines import run_local
from .parts import Parts, do_missing

_RUN = "run"
_Chunk = tuple[int, Sequence[Document]]  # numbered documents that are linked together


class ChunkResult(NamedTuple):
    """What was made of a numbered chunk of documents.

    Attributes:
        records: The records of the documents. Those that lie in a part are left out.
        failures: Why other documents have none.
        counts: The documents, their mentions, and how many of these are linked.
        is_old: Whether an interrupted run has made it.
    """

    number: int
    records: Sequence[Any]
    failures: Sequence[Failure]
    counts: Counter[str]
    is_old: bool = False


@dataclass(frozen=True)
class ChunkWork:
    """Links numbered chunks of documents. It travels to other processes.

    Attributes:
        parts: Keep the records; what they have already is not linked again.
        run: A hash of pipeline, vocabulary and settings.
    """

    settings: LinkSettings
    view: View | None = None
    parts: Parts | None = None
    run: str = ""

    def keeping(self, parts: Parts, identity: Mapping[str, Any]) -> ChunkWork:
        """Return this work with parts. An interrupted run must have had the same pipeline and settings."""
        now, old = json.loads(json.dumps(identity)), parts.about(_RUN)
        if old is None:  # a new run, or a lost file: each part says what it was made with
            parts.write(_RUN, (), now)
        elif different := [name for name in {**old, **now} if old.get(name) != now.get(name)]:
            raise SapbertError(Errors.E563.format(path=parts.folder, differences=f"other {', '.join(different)}"))
        return replace(self, parts=parts, run=digest_of(identity))

    def done(self, chunk: _Chunk) -> ChunkResult | None:
        """Return what an interrupted run has made of a chunk, if it did."""
        number, documents = chunk
        about = self.parts.about(part_name(number)) if self.parts else None
        if not about or about["made of"] != self._made_of(documents):
            return None
        failures = [Failure(*failure) for failure in about["failures"]]
        return ChunkResult(number, (), failures, Counter(about["counts"]), is_old=True)

    def __call__(self, chunk: _Chunk) -> ChunkResult:
        """Link the documents of a chunk."""
        number, documents = chunk
        results = linker_of(self.settings).link(documents, self.view)
        records = [result for result in results if not isinstance(result, Failure)]
        failures = [result for result in results if isinstance(result, Failure)]
        ids = [entity["kb_id"] for record in records for entity in record.get("entities", ())]
        linked = sum(concept_id not in ("", NIL) for concept_id in ids)
        counts = Counter(documents=len(records), mentions=len(ids), linked=linked)
        if self.parts:
            about = {"made of": self._made_of(documents), "failures": failures, "counts": counts}
            self.parts.write(part_name(number), records, about)
            records = []
        return ChunkResult(number, records, failures, counts)

    def lost(self, chunk: _Chunk, reason: str = "") -> ChunkResult:
        """End the run, since its processes cannot work."""
        raise SapbertError(Errors.E575)

    def stream(
        self, documents: Iterable[Document], problems: Problems, workers: int
    ) -> Generator[ChunkResult, None, None]:
        """Link documents in chunks, in order, and report those that fail.

        Without parts, if a document cannot be read, those before it come first.
        """
        errors: list[Exception] = []
        waiting: dict[int, ChunkResult] = {}

        def readable() -> Iterator[Document]:
            try:
                yield from sound(documents, problems, NO_LIMIT)
            except Exception as error:
                if self.parts:  # what was not linked together is not kept
                    raise
                errors.append(error)

        number = 0
        engine = partial(run_local, workers=workers) if workers > 1 else None
        with closing(do_missing(self, enumerate(cut(readable(), self.settings.max_characters)), engine)) as results:
            for result in results:
                waiting[result.number] = result
                while number in waiting:
                    for failure in waiting[number].failures:
                        problems.report(*failure)
                    yield waiting.pop(number)
                    number += 1
        if errors:
            raise errors[0]

    def _made_of(self, documents: Iterable[Document]) -> str:
        """Return a hash of the pipeline, and of what the documents are linked from and what is copied to the output."""
        return digest_of([self.run, [document._replace(position="") for document in documents]])


def part_name(number: int) -> str:
    """Return the name of the part of a chunk."""
    return f"{number:08}"


@contextmanager
def open_parts(output: Path, *, resume: bool | None = None) -> Iterator[Parts]:
    """Open the parts of an output, and keep other runs out.

    They are removed if the block ends without an error, or if there are none.

    Args:
        resume: Go on with the parts of an interrupted run, if there are any. False throws them away. None allows none.
    """
    parts = Parts(output.with_name(f".{output.name}.parts"))

    def exist() -> bool:
        return any(parts.folder.glob("[0-9]*.jsonl"))

    with parts.locked(output):
        if resume is None and exist():
            raise SapbertError(Errors.E561.format(path=parts.folder))
        if not (resume and exist()):
            for path in parts.folder.glob("*.jsonl"):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        written = False
        try:
            yield parts
            written = True
        finally:
            if written or not exist():
                shutil.rmtree(parts.folder, ignore_errors=True)
