"""`.spacy` files: spaCy's `DocBin` with all user data."""

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
    """Write a `.spacy` file; it appears when it is complete. Its folder is made if need be.

    Returns:
        the number of documents.

    Raises:
        SapbertError: E507 the file cannot be written.
    """
    with replacing(path) as temporary:
        # Made before the documents are, which may take long: a place that cannot be written to is told at once.
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.touch()
        return _write(docs, temporary)


def _write(docs: Iterable[Doc], path: Path) -> int:
    packed = DocBin(store_user_data=True)
    for doc in docs:
        packed.add(doc)
    path.write_bytes(packed.to_bytes())
    return len(packed)


def read_docbin(path: Path, vocab: Vocab | None = None) -> Iterator[Doc]:
    """Read a `.spacy` file, whoever wrote it.

    Args:
        vocab: the vocabulary of the pipeline that will run on the documents.

    Yields:
        its documents.

    Raises:
        SapbertError: E210 the file cannot be read, or is no complete `.spacy` file.
    """
    try:
        packed = DocBin(store_user_data=True).from_disk(path)
    except Exception as error:  # zlib, msgpack and spaCy each raise their own, with no common base
        raise SapbertError(Errors.E210.format(path=path, reason=error)) from error
    yield from packed.get_docs(vocab if vocab is not None else Vocab())


def read_docbin_corpus(source: Source) -> Iterator[AnnotatedDocument]:
    """Read a `.spacy` file as a corpus.

    Yields:
        AnnotatedDocument: see `from_doc`; a document without an id is named "file name:number".
    """
    for number, doc in enumerate(read_docbin(source.path), start=1):
        document = from_doc(doc)
        yield document if document.doc_id else document._replace(doc_id=f"{source.path.name}:{number}")
