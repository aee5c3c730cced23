"""Read documents from BioC and from `.spacy` files."""

from __future__ import annotations

from collections.abc import Iterator

from ..errors import Errors, SapbertError
from ..types import Document
from .bioc import read_bioc_documents
from .formats import STDIN
from .input_source import DocumentSource, ReadOptions


def read_bioc_file(source: DocumentSource, options: ReadOptions) -> Iterator[Document]:
    """Read BioC, as XML or JSON."""
    for line, document, meta in read_bioc_documents(source):
        mentions = document.mentions if options.gold else ()
        title = str(meta.get("title", ""))
        yield Document(document.doc_id, document.text, mentions, title, meta, position=source.place(line))
    source.show_moved_passages()
    if options.gold:
        source.show_mismatches()


def read_spacy_file(source: DocumentSource, options: ReadOptions) -> Iterator[Document]:
    """Read a `.spacy` file. A document without an id is named by file and number."""
    from .docbin import read_docbin  # imports spaCy, which the other formats do not need
    from .docs import from_doc

    require_file(source, "spacy")
    for number, doc in enumerate(read_docbin(source.path), start=1):
        document = from_doc(doc)
        doc_id = document.doc_id or f"{source.name}:{number}"
        mentions = document.mentions if options.gold else ()
        yield Document(doc_id, document.text, mentions, position=source.place(number, "document"))


def require_file(source: DocumentSource, format: str) -> None:
    """Check that the input is not standard input.

    Raises:
        SapbertError: E138 it is.
    """
    if source.path == STDIN:
        raise SapbertError(Errors.E138.format(format=format))
