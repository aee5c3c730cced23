"""Define `spacy-sapbert convert`, which converts annotated corpora to one `.spacy` file."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer
from rich.console import Console

from ..documents.formats import files_of, is_companion, others_message
from ..documents.reader import DocumentIds, read_corpus
from ..documents.source import Report
from ..errors import Errors, OptionError, SapbertError, Warnings
from ..files.console import print_tables, show_problems, track
from ..files.output import refuse_input
from ..kb.stop_names import read_names
from ..types import Document, has_type
from .inputs import CorpusFormat, Ids, Prefixes, renamed, split_pairs

if TYPE_CHECKING:
    from spacy.tokens import Doc

_SHOWN_REASONS = 3


def convert(
    inputs: Annotated[list[Path], typer.Argument(help="Corpus files, plain or gzipped, or folders of them.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The .spacy file to write.")],
    format: CorpusFormat = None,
    lang: Annotated[str, typer.Option(help="Language of the tokenizer, such as en.")] = "en",
    tokenizer: Annotated[
        str | None, typer.Option(help="Another tokenizer, by its registered name (@tokenizers in a config).")
    ] = None,
    types: Annotated[list[str] | None, typer.Option(help="Keep only mentions of this type. Repeatable.")] = None,
    rename: Annotated[list[str] | None, typer.Option(help="Rename a type of mentions, as OLD=NEW. Repeatable.")] = None,
    id_prefix: Prefixes = None,
    annotates: Annotated[
        list[str] | None,
        typer.Option(
            help="A type of which the corpora annotate every mention, after --rename. Then a typed_ner learns nothing "
            "from them about other types. Repeatable. Default: all types."
        ),
    ] = None,
    unsure: Annotated[
        list[str] | None,
        typer.Option(
            help="Words that the corpora annotate at some places only, as TYPE=FILE, one word per line. A typed_ner "
            "learns nothing from those that are not annotated. Repeatable."
        ),
    ] = None,
    ids: Ids = None,
    encoding: Annotated[
        str | None, typer.Option(help="Encoding of text files. Default: UTF-8, or Latin-1 for askapatient.")
    ] = None,
    strict: Annotated[bool, typer.Option(help="Stop at the first broken record.")] = False,
) -> None:
    """Convert annotated corpora to one .spacy file for `spacy train`.

    A token is split where a mention starts or ends inside it.
    The command shows how much was read, and which records and mentions did not fit.
    """
    from ..documents.docbin import write_docbin
    from ..documents.docs import set_annotated, to_doc
    from ..pipeline.tokenizer import blank_pipeline

    check_docbin(output)
    refuse_input(output, [*inputs, ids], in_folders=True)
    changes = _Changes(types or [], dict(split_pairs("--rename", rename)), dict(split_pairs("--id-prefix", id_prefix)))
    words = {label: read_names([Path(path)]) for label, path in split_pairs("--unsure", unsure)}
    nlp, console, report = blank_pipeline(lang, tokenizer), Console(stderr=True), Report()
    reading = {"format": format, "encoding": encoding, "strict": strict, "join_passages": True}
    documents = (changes(document, report) for document in _read(inputs, ids, report, reading))

    def docs() -> Iterator[Doc]:
        for document in documents:
            doc = to_doc(nlp, document, split_tokens=True, report=report)
            if annotates or words:
                set_annotated(doc, annotates, words)
            yield doc

    write_docbin(track(docs(), console), output)
    changes.warn_of_missing_types([*(annotates or []), *words], report.labels)
    _show(report, console, output)


def check_docbin(output: Path) -> None:
    """Check the name of a file for `spacy train`."""
    if output.suffix != ".spacy":
        reason = "`spacy train` reads only files that end in .spacy"
        raise OptionError(option=f"The output {output}", reason=reason, remedy="Change the name.")


def _read(inputs: Sequence[Path], ids: Path | None, report: Report, reading: Mapping[str, Any]) -> Iterator[Document]:
    split = DocumentIds(ids) if ids else None
    for path in inputs:
        if path.is_dir():
            yield from _read_folder(path, split, report, reading)
        else:
            yield from read_corpus(path, report=report, ids=split, **reading)
    if split:
        report.missing = split.check()
    if not report.documents:
        paths = ", ".join(map(str, inputs))
        first = [f"{problem}. " for problem in report.problems[:_SHOWN_REASONS]]
        raise SapbertError(Errors.E211.format(paths=paths, broken=report.broken, reasons="".join(first)))


def _read_folder(
    folder: Path, ids: DocumentIds | None, report: Report, reading: Mapping[str, Any]
) -> Iterator[Document]:
    """Read the corpus files of a folder, in the order of `files_of`. Files of other formats are counted and shown."""
    others: list[Path] = []
    for path in files_of(folder, lambda skipped, _: others.append(skipped)):
        if is_companion(path, reading["format"]):
            continue
        try:
            yield from read_corpus(path, report=report, ids=ids, **reading)
        except SapbertError as error:
            if not str(error).startswith("[E124]"):
                raise
            others.append(path)
    if others:
        typer.echo(others_message(folder, others), err=True)


class _Changes(NamedTuple):
    """What changes in the mentions of a document.

    Attributes:
        types: The types of the mentions that stay. None stands for all.
        names: The new names of types.
        prefixes: For each type, the prefix of ids that are numbers only.
    """

    types: Sequence[str]
    names: Mapping[str, str]
    prefixes: Mapping[str, str]

    def __call__(self, document: Document, report: Report) -> Document:
        mentions = tuple(
            mention for mention in document.mentions if not self.types or has_type(mention.label, self.types)
        )
        report.filtered += len(document.mentions) - len(mentions)
        return renamed(document._replace(mentions=mentions), self.names, self.prefixes)

    def warn_of_missing_types(self, renamed: Sequence[str], types: Collection[str]) -> None:
        """Warn of types that were given, some by their new names, and that are not among those of the corpora."""
        given = [*self.types, *self.names, *self.prefixes]
        for names, known in ((given, {*types}), (renamed, {self.names.get(label, label) for label in types})):
            if missing := [name for name in dict.fromkeys(names) if name not in known]:
                shown = ", ".join(sorted(known))
                warnings.warn(Warnings.W202.format(missing=", ".join(missing), known=shown), stacklevel=2)


def _show(report: Report, console: Console, output: Path) -> None:
    counts = {label: count for label, count in report.rows() if count}
    print_tables({"file": str(output), **counts, "type": dict(sorted(report.labels.items()))})
    for problems, n_problems in ((report.problems, report.broken), (report.mismatches, report.mismatched)):
        show_problems(console, problems, n_problems)
    if report.joined:
        console.print(report.joined_message())
