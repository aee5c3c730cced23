"""Define the options for codes of other vocabularies, which `link` and `kb map` share."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

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
    """Which codes to add, and from which mappings."""

    systems: Sequence[str]
    mappings: Sequence[Path]
    predicates: Sequence[str]

    @classmethod
    def checked(
        cls, systems: list[str] | None, mappings: list[Path] | None, predicates: list[str] | None
    ) -> CodeOptions | None:
        """Return the options of `link`; None if no codes are wanted.

        Raises:
            BadParameter: There are mappings or predicates, but no code system.
        """
        if systems is None:
            for option, given in (("--mapping", mappings), ("--predicates", predicates)):
                if given:
                    raise typer.BadParameter("it needs --also with the vocabularies of the codes", param_hint=option)
            return None
        return cls.of(systems, mappings, predicates)

    @classmethod
    def of(cls, systems: list[str], mappings: list[Path] | None, predicates: list[str] | None) -> CodeOptions:
        """Return the options.

        Raises:
            SapbertError: E195 a predicate cannot be read; E197 there is no code system.
        """
        from ..kb.code_mappings import parse_predicates
        from ..kb.code_systems import DEFAULT_PREDICATES, parse_systems

        predicates = predicates or list(DEFAULT_PREDICATES)
        parse_predicates(predicates)  # errors come before the pipeline is loaded
        return cls(parse_systems(systems), mappings or [], predicates)

    def open(self, kb: KnowledgeBase, console: Console) -> CodeSystems:
        """Return the codes of a vocabulary, and report the rows of the mappings.

        Raises:
            SapbertError: The errors of `CodeSystems`.
        """
        from ..kb.code_systems import CodeSystems
        from ..kb.readers import ReadReport

        report = ReadReport()
        codes = CodeSystems(kb, self.systems, self.mappings, predicates=self.predicates, report=report)
        if self.mappings:
            dropped = "".join(f"; {count:,} {reason}" for reason, count in sorted(report.rows_dropped.items()))
            console.print(f"mappings: {report.rows_kept:,} of {report.rows_read:,} rows{dropped}", markup=False)
        for problem in report.problems[:_SHOWN_BROKEN]:
            console.print(str(problem), markup=False, soft_wrap=True)
        return codes

    def identity(self) -> dict[str, Any]:
        """Return what the codes depend on, besides the vocabulary: JSON values by name."""
        hashes = [hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest() for path in self.mappings]
        return {"codes": list(self.systems), "mappings": hashes, "predicates": sorted(self.predicates)}
