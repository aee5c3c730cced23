"""Define `spacy-sapbert discover`, which lists linked texts that are not yet names in the vocabulary."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..documents.formats import InputFormat
from ..documents.input_documents import Problems, read_all
from ..errors import Errors, MissingComponentError, SapbertError
from ..files.console import show_values, stderr_console, track
from ..files.output import open_output, refuse_input
from ..types import NIL
from .inputs import Columns, Encoding, Format, Gold, Inputs, NProcess, Pipeline, Strict, open_inputs

if TYPE_CHECKING:
    from ..outputs.records import LinkedDocument
    from ..runs.document_linker import LoadedLinker

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


def discover(
    pipeline: Pipeline,
    corpus: Inputs,
    output: Annotated[Path, typer.Option("--output", "-o", help="Table to write, tab-separated.")],
    similarity: Annotated[
        float | None, typer.Option(min=0, max=1, help="Lowest score of a link. Default: the threshold of the linker.")
    ] = None,
    min_documents: Annotated[int, typer.Option(min=1, help="Leave out names that occur in fewer documents.")] = 1,
    type: Annotated[list[str] | None, typer.Option(help="Use only mentions of this type. Repeatable.")] = None,
    format: Format = None,
    strict: Strict = False,
    n_process: NProcess = 1,
    column: Columns = None,
    encoding: Encoding = None,
    gold: Gold = False,
) -> None:
    """Find new names: linked mentions whose text is not yet a name of their concept.

    The result is a table for your review. In the column `keep`, write y for each text that is a name of the concept.
    You can also write its scope: narrow, broad or related.
    To add the names, give the table to `kb build` together with the sources of the vocabulary.
    Broken records are reported and left out.
    """
    problems = Problems(stderr_console(), strict=strict)
    sources = open_inputs(corpus, format, column, encoding, gold=gold)
    refuse_input(output, [*corpus, Path(pipeline)], in_folders=True)
    from ..kb.new_names import Discovery, table_lines
    from ..runs.document_linker import LinkSettings, linker_of
    from ..runs.file_run import NO_LIMIT, ChunkWork

    given = gold or format is InputFormat.names
    settings = LinkSettings(pipeline, given, max_characters=NO_LIMIT, seconds=float("inf"), threshold=similarity)
    linking = linker_of(settings).load().pipeline
    if not given and not linking.finds_new_names():
        raise MissingComponentError(
            component="component that finds other mentions than the names of the vocabulary",
            consequence="it cannot find new names",
            components=linking.nlp.pipe_names,
            remedy="Use a pipeline with an NER (`assemble --ner`), or a corpus with annotated mentions (--gold).",
        )
    counts: Counter[str] = Counter()
    with open_output(output) as write:
        discovery = Discovery(linking.kb)
        work = ChunkWork(settings, _occurrences)
        with closing(work.stream(read_all(sources, problems), problems, n_process)) as results:
            documents = (document for result in results for document in result.records)
            for document in track(documents, problems.console, share=problems.share):
                mentions = [mention for mention in document["mentions"] if not type or mention["label"] in type]
                counts.update(
                    documents=1,
                    mentions=len(mentions),
                    mentions_of_other_types=len(document["mentions"]) - len(mentions),
                    linked_mentions=sum(mention["is_linked"] for mention in mentions),
                )
                discovery.add(document["id"], [one for mention in mentions for one in mention["occurrences"]])
        if problems.count and not counts["documents"]:
            raise SapbertError(Errors.E508.format(n=problems.count))
        names = discovery.ranked(min_documents)
        for line in table_lines(names, linking.kb):
            write(line)
    problems.show_passages()
    counts += discovery.counts
    left = {"broken_records": problems.count, "in_too_few_documents": counts["candidates"] - len(names)}
    show_values({**{name: counts[name] for name in _COUNTS}, **left, "written": len(names)})


def _occurrences(item: LinkedDocument, loaded: LoadedLinker) -> dict[str, Any]:
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
