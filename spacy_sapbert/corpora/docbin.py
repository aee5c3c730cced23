"""Read and write `.spacy` files: spaCy's `DocBin` with all user data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ..errors import Errors, SapbertError
from ..files import replacing
from ..types import AnnotatedDocument
from .docs import from_doc
from .source import Source


def write_docbin(docs: Iterable[Doc], path: Path) -> int:
    """Write a `.spacy` file. It appears when it is complete. Its folder is created if needed.

    Returns:
        The number of documents.

    Raises:
        SapbertError: E507 if the file cannot be written.
    """
    with replacing(path, parents=True) as temporary:
        temporary.touch()  # documents may take long to make, so report an unwritable path first
        return _write(docs, temporary)


def _write(docs: Iterable[Doc], path: Path) -> int:
    doc_bin = DocBin(store_user_data=True)
    for doc in docs:
        doc_bin.add(doc)
    path.write_bytes(doc_bin.to_bytes())
    return len(doc_bin)


def read_docbin(path: Path, vocab: Vocab | None = None) -> Iterator[Doc]:
    """Read a `.spacy` file from any program.

    Args:
        path: The file.
        vocab: The vocabulary of the pipeline that will process the documents.

    Yields:
        The documents.

    Raises:
        SapbertError: E210 if the file cannot be read, or is not a complete `.spacy` file.
    """
    try:
        doc_bin = DocBin(store_user_data=True).from_disk(path)
    except Exception as error:  # errors of zlib, msgpack and spaCy have no common base
        raise SapbertError(Errors.E210.format(path=path, reason=error)) from error
    yield from doc_bin.get_docs(vocab if vocab is not None else Vocab())


def read_docbin_corpus(source: Source) -> Iterator[AnnotatedDocument]:
    """Read a `.spacy` file as a corpus.

    Yields:
        The documents as `from_doc` returns them. If a document has no id, its id joins file name and number with a
        colon.
    """
    for number, doc in enumerate(read_docbin(source.path), start=1):
        document = from_doc(doc)
        yield document if document.doc_id else document._replace(doc_id=f"{source.path.name}:{number}")
