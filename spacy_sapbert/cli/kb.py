"""Define `spacy-sapbert kb`, with the commands for knowledge bases."""

from __future__ import annotations

import heapq
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import OptionError
from ..files.console import print_tables, progress_callback, show, stderr_console, track
from ..files.opening import without_gz
from ..files.output import open_output, refuse_input
from ..files.postgres import Database, is_postgres
from ..files.values import table_lines
from ..kb.check import SuspiciousName, check_knowledge_base, describe, suspicious_names
from ..kb.code_systems import CodeOptions, CodeSystems
from ..kb.export import ExportReport, export_lines
from ..kb.ids import display_tag
from ..kb.search import search_names
from ..kb.storage import load_knowledge_base
from .inputs import CodeMapping, DisplayLanguage
from .kb_build import build, get

kb = typer.Typer(
    help="Get, build, inspect, search, compare, check, export, map or upload a knowledge base.", no_args_is_help=True
)
kb.command("build")(build)
kb.command("get")(get)

KnowledgeBaseName = Annotated[str, typer.Argument(help="A knowledge base file, or 'starter'.")]
STDOUT = Path("-")
_BLOCK = 4096  # concepts whose names are read together
COLUMNS = ("concept_id", "preferred_name", "system", "code", "predicate", "origin")


@kb.command("info")
def info(knowledge_base: KnowledgeBaseName) -> None:
    """Show the contents of a knowledge base, and how it was built."""
    show(describe(load_knowledge_base(knowledge_base)))


@kb.command("search")
def search(
    knowledge_base: KnowledgeBaseName,
    text: Annotated[str, typer.Argument(help="An id, or words of a name.")],
    k: Annotated[int, typer.Option("-k", min=1, help="Number of concepts to show.")] = 10,
    display_language: DisplayLanguage = None,
) -> None:
    """Show the concepts with a name that contains the words of a text.

    If the text is an id, its concept comes first. `spacy-sapbert ground` finds similar names.
    """
    opened = load_knowledge_base(knowledge_base)
    found = search_names(opened, text, k)
    labels = opened.labels_of([concept_id for concept_id, _, _ in found], display_tag(opened, display_language))
    concepts = [
        {
            "score": round(score, 3),
            "id": concept_id,
            "preferred_name": labels[concept_id].preferred,
            "matched_name": matched,
            "types": list(opened.cui_to_entity[concept_id].types),
            "definition": opened.cui_to_entity[concept_id].definition or "",
        }
        for concept_id, score, matched in found
    ]
    show({"concepts": concepts})
    if not found:
        stderr_console().print("No name contains these words. To find similar names, use `spacy-sapbert ground`.")


@kb.command("diff")
def diff(
    old: Annotated[str, typer.Argument(help="The earlier knowledge base, or 'starter'.")],
    new: Annotated[str, typer.Argument(help="The later knowledge base.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File for a list of all changes, as JSON lines.")
    ] = None,
    ids: Annotated[bool, typer.Option("--ids", help="Also show the id of each concept that has changed.")] = False,
) -> None:
    """Count the changes between two versions of a vocabulary."""
    from ..kb.diff import compare

    console = stderr_console()
    kbs = [load_knowledge_base(old), load_knowledge_base(new)]
    refuse_input(output, [kb.path for kb in kbs])
    with console.status("comparing"), compare(*kbs) as changes:
        result = changes.summary()
        if ids:
            listed = ("change", "id", "name")
            result["ids"] = [{key: one.get(key, "") for key in listed} for one in changes.changes() if "id" in one]
        if output:
            with open_output(output) as write:
                for change in changes.changes():
                    write(json.dumps(change, ensure_ascii=False) + "\n")
    show(result, {name: value for name, value in result.items() if name not in ("old", "new")})


@kb.command("export")
def export(
    knowledge_base: KnowledgeBaseName,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="File to write, gzipped if its name ends in .gz. - is standard output."),
    ],
    format: Annotated[str, typer.Option(help="Format: scispacy, table (tab-separated), ssslm or biosyn.")],
) -> None:
    """Export a knowledge base for other programs.

    The command counts the content that the format cannot store.
    """
    if format == "table" and without_gz(output).suffix.lower() == ".csv":
        remedy = "Choose a name that ends in .tsv."
        raise OptionError(option=f"--output {output}", reason="a table has tabs between its cells", remedy=remedy)
    opened, report = load_knowledge_base(knowledge_base), ExportReport()
    refuse_input(output, [opened.path])
    lines = export_lines(opened, format, report)
    with open_output(None if output == STDOUT else output) as write:
        for line in track(lines, stderr_console(), "lines"):
            write(line)
    left_out = {kind: count for kind, count in report.left_out.items() if count}
    result = {"file": str(output), "concepts": report.concepts, "names": report.names, "left_out": left_out}
    _show_unless(output, result)


@kb.command("check")
def check(
    knowledge_base: KnowledgeBaseName,
    also_in: Annotated[
        list[str] | None,
        typer.Option(help="Report short forms that are also names in this knowledge base (genes, …). Repeatable."),
    ] = None,
    number: Annotated[int, typer.Option("--number", "-n", min=1, help="Number of names to show.")] = 20,
    suspicious: Annotated[
        Path | None,
        typer.Option(
            "--stop-names", help="File for a list of the suspicious names shown, to be read and given to `kb build`."
        ),
    ] = None,
) -> None:
    """Check a knowledge base for damage, unusual content, and names that may mean something else in text.

    The most suspicious names come first. The exit status is 1 if you must build the knowledge base again.
    """
    console = stderr_console()
    knowledge_bases = [knowledge_base, *(also_in or [])]
    opened, *others = map(load_knowledge_base, knowledge_bases)
    with console.status("checking"):
        result = check_knowledge_base(opened)
    if not result["problems"]:
        kinds: Counter[str] = Counter()
        names = heapq.nsmallest(number, _tallied(suspicious_names(opened, others), kinds))
        result |= {"suspicious": dict(kinds), "suspicious_names": [name.as_json() for name in names]}
    show(result)
    if suspicious and "suspicious_names" in result:
        with open_output(suspicious) as write:
            for line in _stop_name_lines(result["suspicious_names"]):
                write(line)
    if result["problems"]:
        console.print("Build the knowledge base again.")
        raise typer.Exit(1)


@kb.command("map")
def map_concepts(
    knowledge_base: KnowledgeBaseName,
    to: Annotated[
        list[str], typer.Option(help="Vocabularies of the codes, such as ICD10CM,SNOMEDCT. Case does not matter.")
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Table to write: .csv with commas, any other with tabs; or .gz. - is standard output.",
        ),
    ],
    mapping: CodeMapping = None,
    predicates: Annotated[
        list[str] | None,
        typer.Option(
            help="Which stated relations give a code: exact, close, broad, narrow, related or CURIEs, joined by "
            "commas. Default: exact."
        ),
    ] = None,
    display_language: DisplayLanguage = None,
) -> None:
    """Write the codes of each concept in other vocabularies.

    The codes come from alternative ids, cross-references and mappings.
    A row has the relation of the code to the concept, where its source states it.
    """
    console = stderr_console()
    options = CodeOptions.of(to, mapping, console, predicates)
    opened = load_knowledge_base(knowledge_base)
    refuse_input(output, [opened.path, *options.mappings])
    codes, language = options(opened), display_tag(opened, display_language)
    counts: Counter[str] = Counter()
    concepts: Counter[str] = Counter()
    delimiter = "," if without_gz(output).suffix.lower() == ".csv" else "\t"
    with open_output(None if output == STDOUT else output) as write:
        rows = track(_rows(codes, language, concepts, counts), console, "codes")
        for line in table_lines(chain([COLUMNS], rows), delimiter):
            write(line)
    by_system = {system: {"concepts": concepts[system], "rows": counts[system]} for system in codes.systems}
    result = {"file": str(output), "concepts": len(opened), "systems": by_system}
    _show_unless(output, result)


@kb.command("upload")
def upload(
    knowledge_base: KnowledgeBaseName,
    encoder: Annotated[str, typer.Option(help="Encoder of the names: 'starter', a folder or a hub name.")],
    to: Annotated[
        str,
        typer.Option(
            help="URL of a Qdrant server, folder of a local Qdrant database, or a postgresql:// address. If it holds "
            "several vocabularies, with # and the name of a collection or schema: http://localhost:6333#medic."
        ),
    ],
    centroids: Annotated[
        bool, typer.Option("--centroids", help="Add one point per concept. The linker then searches these points.")
    ] = False,
) -> None:
    """Upload the names of a vocabulary and their vectors to Qdrant or PostgreSQL, or update an earlier upload.

    To use the upload, set the linker's `index` to the value that this command prints.
    If the server needs a key, set the environment variable QDRANT_API_KEY. For PostgreSQL, set PGPASSWORD.
    """
    from ..encoders.encoder import open_encoder
    from ..vectors import postgres_index, qdrant_index
    from ..vectors.flat import cached_name_vectors

    opened, made_by = load_knowledge_base(knowledge_base), open_encoder(encoder)
    if made_by is None:
        raise OptionError(option="--encoder none", reason="an upload needs vectors of names")
    if is_postgres(to):
        if centroids:
            raise OptionError(option="--centroids", reason="only Qdrant has points of concepts")
        index, send = str(Database(to)), partial(postgres_index.upload, address=to)
    else:
        address = qdrant_index.Address.parse(to)
        if not address.is_url:
            address = address._replace(location=os.path.abspath(address.location))
        index, send = str(address), partial(qdrant_index.upload, address=address, centroids=centroids)
    with progress_callback(stderr_console(), "names encoded") as progress:
        vectors = cached_name_vectors(opened, made_by, progress)
    with progress_callback(stderr_console(), "names uploaded") as progress:
        counts = send(opened, vectors, progress=progress)
    show({"index": index, "names": opened.n_names, **counts})


def _show_unless(output: Path, result: Mapping[str, Any]) -> None:
    """Show the counts of an output. Standard output gets them only if it is not the output."""
    if output == STDOUT:
        print_tables(result)
    else:
        show(result)


# --- check


def _stop_name_lines(names: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the lines of a list of stop names: general names, and as comments those that a person must decide on."""
    yield "# Delete what must be found in text, and the # before what must not. Then: kb build --stop-names FILE\n"
    for name in names:
        yield f"\n# {name['why']}: {', '.join(name['ids'])}\n"
        yield f"{'' if name['general'] else '# '}{' '.join(name['name'].lower().split())}\n"


def _tallied(found: Iterable[SuspiciousName], tally: Counter[str]) -> Iterator[SuspiciousName]:
    for name in found:
        tally[name.kind] += 1
        yield name


# --- map


def _rows(codes: CodeSystems, language: str, concepts: Counter[str], counts: Counter[str]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table. Count the concepts and the codes of each system."""
    all_codes = codes.all()
    while block := list(islice(all_codes, _BLOCK)):
        labels = codes.kb.labels_of([concept_id for concept_id, _ in block], language)
        for concept_id, of_concept in block:
            concepts.update({code.system for code in of_concept})
            counts.update(code.system for code in of_concept)
            yield from ((concept_id, labels[concept_id].preferred, *code) for code in of_concept)
