"""Define the options for codes of other vocabularies, which `link` and `kb map` share."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from ..files.opening import sha256_of

if TYPE_CHECKING:
    from ..kb.code_systems import CodeSystems
    from ..kb.knowledge_base import KnowledgeBase

_SHOWN_BROKEN = 10

Also = Annotated[
    list[str] | None,
    typer.Option(help="Add the codes of each link in these vocabularies, such as ICD10CM,SNOMEDCT. Repeatable."),
]
CodeMapping = Annotated[
    list[Path] | None,
    typer.Option(help="Mapping of ids that gives further codes: SSSOM, or a table of two columns. Repeatable."),
]
Predicates = Annotated[
    list[str] | None,
    typer.Option(
        help="Which stated relations give a code: exact, close, broad, narrow, related or CURIEs, joined by commas. "
        "Default: exact."
    ),
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
    def checked(cls, systems: list[str] | None, mappings: list[Path] | None, console: Console) -> CodeOptions | None:
        """Return the options of `link`; None if no codes are wanted."""
        if systems is None:
            if mappings:
                reason = "it needs --also with the vocabularies of the codes"
                raise typer.BadParameter(reason, param_hint="--mapping")
            return None
        return cls.of(systems, mappings, None, console)

    @classmethod
    def of(
        cls, systems: list[str], mappings: list[Path] | None, predicates: list[str] | None, console: Console
    ) -> CodeOptions:
        """Return the options. What cannot be read is an error before a pipeline is loaded."""
        from ..kb.code_systems import DEFAULT_PREDICATES, parse_predicates, parse_systems

        chosen = tuple(predicates or DEFAULT_PREDICATES)
        parse_predicates(chosen)
        return cls(parse_systems(systems), tuple(path.absolute() for path in mappings or ()), chosen, console)

    def __call__(self, kb: KnowledgeBase) -> CodeSystems:
        """Return the codes of a vocabulary, and report the rows of the mappings."""
        from ..kb.code_systems import CodeSystems
        from ..kb.readers import ReadReport

        report = ReadReport()
        codes = CodeSystems(kb, self.systems, self.mappings, predicates=self.predicates, report=report)
        if self.mappings and self.console:
            dropped = "".join(f"; {count:,} {reason}" for reason, count in sorted(report.rows_dropped.items()))
            self.console.print(f"mappings: {report.rows_kept:,} of {report.rows_read:,} rows{dropped}", markup=False)
            for problem in report.problems[:_SHOWN_BROKEN]:
                self.console.print(str(problem), markup=False, soft_wrap=True)
        return codes

    def identity(self) -> dict[str, Any]:
        """Return what the codes depend on, besides the vocabulary: JSON values by name."""
        hashes = [sha256_of(path) for path in self.mappings]
        return {"codes": list(self.systems), "mappings": hashes, "predicates": sorted(self.predicates)}
