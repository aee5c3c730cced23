"""Define `spacy-sapbert discover`, which lists linked texts that are not yet names in the vocabulary."""

# no postponed annotations here: spaCy could not check the settings

from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..documents.formats import format_named
from ..documents.input_documents import Problems, read_all
from ..errors import Errors, SapbertError
from ..files.console import show, stderr_console, track
from ..files.output import open_output, refuse_input
from ..kb.new_names import Discovery, table_lines
from ..settings_block import check_counts, check_rules
from ..types import NIL
from .configs import OptionalConfig, resolve
from .inputs import Inputs, Pipeline, reading_options

if TYPE_CHECKING:
    from ..outputs.records import LinkedDocument

_COUNTS = (
    "documents",
    "mentions",
    "mentions_of_other_types",
    "linked_mentions",
    "known_names",
    "short_forms",
    "without_words",
    "occurrences",
    "candidates",
)


@dataclass(frozen=True)
class DiscoverySettings:
    """Which names `spacy-sapbert discover` looks for, and how it reads documents. See `configs/discover.cfg`."""

    similarity: float | None = None
    min_documents: int = 1
    types: str | list[str] | None = None
    gold: bool = False
    format: str | None = None
    columns: list[str] | None = None
    encoding: str | None = None
    n_process: int = 1
    strict: bool = False

    def __post_init__(self) -> None:
        check_counts("discover", min_documents=self.min_documents, n_process=self.n_process)
        check_rules(self, ("similarity", 0 <= (self.similarity or 0) <= 1, "between 0 and 1"))
        if self.format is not None:
            format_named(self.format)


def discover(
    ctx: typer.Context,
    pipeline: Pipeline,
    corpus: Inputs,
    output: Annotated[Path, typer.Option("--output", "-o", help="Table to write, tab-separated.")],
    config: OptionalConfig = None,
) -> None:
    """Find new names: linked mentions whose text is not yet a name of their concept.

    The result is a table for your review. In the column `keep`, write y for each text that is a name of the concept.
    You can also write its scope: narrow, broad or related.
    To add the names, give the table to `kb build` together with the sources of the vocabulary.
    Broken records are reported and left out.
    To override a setting of the config, give it as --discover.min_documents 2.
    """
    settings: DiscoverySettings = resolve(ctx, config, "discover", DiscoverySettings)[1]
    types = [settings.types] if isinstance(settings.types, str) else settings.types
    problems = Problems(stderr_console(), strict=settings.strict)
    reading = reading_options(corpus, settings.format, settings.columns, settings.encoding, gold=settings.gold)
    sources = [(path, reading) for path in corpus]
    refuse_input(output, [*corpus, Path(pipeline)], in_folders=True)
    from ..runs.document_linker import LinkSettings, linker_of
    from ..runs.file_run import ChunkWork

    given = settings.gold or settings.format == "names"
    linking = LinkSettings(pipeline, given, threshold=settings.similarity)
    kb = linker_of(linking).kb
    counts: Counter[str] = Counter()
    with open_output(output) as write:
        discovery = Discovery(kb)
        work = ChunkWork(linking, _occurrences)
        with closing(work.stream(read_all(sources, problems), problems, settings.n_process)) as results:
            documents = (document for result in results for document in result.records)
            for document in track(documents, problems.console, share=problems.share):
                mentions = [mention for mention in document["mentions"] if not types or mention["label"] in types]
                counts.update(
                    documents=1,
                    mentions=len(mentions),
                    mentions_of_other_types=len(document["mentions"]) - len(mentions),
                    linked_mentions=sum(mention["is_linked"] for mention in mentions),
                )
                occurrences = [occurrence for mention in mentions for occurrence in mention["occurrences"]]
                discovery.add(document["id"], occurrences)
        if problems.broken and not counts["documents"]:
            raise SapbertError(Errors.E508.format(n=problems.broken))
        names = discovery.ranked(settings.min_documents)
        for line in table_lines(names, kb):
            write(line)
    problems.show_passages()
    counts += discovery.counts
    left = {"broken_records": problems.broken, "in_too_few_documents": counts["candidates"] - len(names)}
    show({**{name: counts[name] for name in _COUNTS}, **left, "written": len(names)})


def _occurrences(item: "LinkedDocument") -> dict[str, Any]:
    from ..pipeline.mentions import linked_occurrences

    mentions = [
        {
            "label": mention.label_,
            "is_linked": mention.kb_id_ not in ("", NIL),
            "occurrences": list(linked_occurrences(mention)),
        }
        for mention in item.mentions
    ]
    return {"id": item.document.doc_id, "mentions": mentions}
