"""Define `spacy-sapbert kb map`, which maps concepts to codes of other vocabularies, and the codes that `link` adds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from ..files.console import stderr_console, track
from ..files.opening import sha256_of, without_gz
from ..files.output import open_output, refuse_input
from ..files.values import table_lines
from ..kb.knowledge_base import KnowledgeBase
from ..kb.languages import display_tag
from ..kb.readers import ReadReport
from ..kb.storage import load_knowledge_base
from .inputs import DisplayLanguage, show_problems

if TYPE_CHECKING:
    from ..kb.code_systems import CodeSystems

_BLOCK = 4096  # concepts whose names are read together
COLUMNS = ("concept_id", "preferred_name", "system", "code", "predicate", "origin")

Also = Annotated[
    list[str] | None,
    typer.Option(help="Add the codes of each link in these vocabularies, such as ICD10CM,SNOMEDCT. Repeatable."),
]
CodeMapping = Annotated[
    list[Path] | None,
    typer.Option(help="Mapping of ids that gives further codes: SSSOM, or a table of two columns. Repeatable."),
]


@dataclass(frozen=True)
class CodeOptions:
    """Which codes to add, and from which mappings. Equal ones are equal in every process, so that a worker loads once.

    Attributes:
        systems: The code systems.
        mappings: The mapping files.
        predicates: Which stated relations give a code.
        console: Gets a report of the rows of the mappings, but not in other processes.
    """

    systems: tuple[str, ...]
    mappings: tuple[Path, ...]
    predicates: tuple[str, ...]
    console: Console | None = field(default=None, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return CodeOptions, (self.systems, self.mappings, self.predicates)

    @classmethod
    def of(
        cls,
        systems: list[str],
        mappings: list[Path] | None,
        console: Console | None = None,
        predicates: list[str] | None = None,
    ) -> CodeOptions:
        """Return the options. What cannot be read is an error before a pipeline is loaded."""
        from ..kb.code_systems import DEFAULT_PREDICATES, parse_predicates, parse_systems

        chosen = tuple(predicates or DEFAULT_PREDICATES)
        parse_predicates(chosen)
        return cls(parse_systems(systems), tuple(path.absolute() for path in mappings or ()), chosen, console)

    def __call__(self, kb: KnowledgeBase) -> CodeSystems:
        """Return the codes of a vocabulary, and report the rows of the mappings."""
        from ..kb.code_systems import CodeSystems

        report = ReadReport()
        codes = CodeSystems(kb, self.systems, self.mappings, predicates=self.predicates, report=report)
        if self.mappings and self.console:
            dropped = "".join(f"; {count:,} {reason}" for reason, count in sorted(report.rows_dropped.items()))
            self.console.print(f"mappings: {report.rows_kept:,} of {report.rows_read:,} rows{dropped}", markup=False)
            show_problems(self.console, report.problems, 0)
        return codes

    def identity(self) -> dict[str, Any]:
        """Return what the codes depend on, besides the vocabulary: JSON values by name."""
        hashes = [sha256_of(path) for path in self.mappings]
        return {"codes": list(self.systems), "mappings": hashes, "predicates": sorted(self.predicates)}


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
    from .kb_tables import STDOUT, map_table, show_counts

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
