"""Define `spacy-sapbert kb map`, which maps concepts to codes of other vocabularies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Annotated

import typer

from ..files.console import stderr_console, track
from ..files.opening import without_gz
from ..files.output import open_output, refuse_input
from ..files.values import table_lines
from ..kb.code_systems import CodeOptions, CodeSystems
from ..kb.languages import display_tag
from ..kb.storage import load_knowledge_base
from .inputs import CodeMapping, DisplayLanguage
from .kb_tables import STDOUT, map_table, show_counts

_BLOCK = 4096  # concepts whose names are read together
COLUMNS = ("concept_id", "preferred_name", "system", "code", "predicate", "origin")


def map_concepts(
    knowledge_base: Annotated[str, typer.Argument(help="A knowledge base file, or 'starter'.")],
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
    kb = load_knowledge_base(knowledge_base)
    refuse_input(output, [kb.path, *options.mappings])
    codes, language = options(kb), display_tag(kb, display_language)
    counts: Counter[str] = Counter()
    concepts: Counter[str] = Counter()
    delimiter = "," if without_gz(output).suffix.lower() == ".csv" else "\t"
    with open_output(None if output == STDOUT else output) as write:
        rows = track(_rows(codes, language, concepts, counts), console, "codes")
        for line in table_lines(chain([COLUMNS], rows), delimiter):
            write(line)
    by_system = {system: {"concepts": concepts[system], "rows": counts[system]} for system in codes.systems}
    result = {"file": str(output), "concepts": len(kb), "systems": by_system}
    show_counts(map_table(result), result, output)


def _rows(codes: CodeSystems, language: str, concepts: Counter[str], counts: Counter[str]) -> Iterator[tuple[str, ...]]:
    """Yield the rows of the table. Count the concepts and the codes of each system."""
    all_codes = codes.all()
    while block := list(islice(all_codes, _BLOCK)):
        labels = codes.kb.labels_of([concept_id for concept_id, _ in block], language)
        for concept_id, of_concept in block:
            concepts.update({code.system for code in of_concept})
            counts.update(code.system for code in of_concept)
            yield from ((concept_id, labels[concept_id].preferred, *code) for code in of_concept)
