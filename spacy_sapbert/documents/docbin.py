"""Read and write `.spacy` files: spaCy's `DocBin` with all user data."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator, Sized
from itertools import count
from pathlib import Path

from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ..errors import DamagedError, LimitError
from ..files.opening import OpenedFile, check_ratio, open_unpacked
from ..files.output import replacing
from ..types import Document
from .docs import DOC_ID, WEIGHT, from_doc
from .source import DocumentSource

_CHUNK, _UNPACKED = 1 << 16, 1 << 20


def write_docbin(docs: Iterable[Doc], path: Path) -> int:
    """Write a `.spacy` file. It appears when it is complete. Its folder is created if needed.

    Returns:
        The number of documents.

    Raises:
        CannotWriteError: The file cannot be written.
    """
    doc_bin = DocBin(store_user_data=True)
    with replacing(path, parents=True) as temporary:
        temporary.touch()  # documents may take long to make, so report an unwritable path first
        for doc in docs:
            doc_bin.add(doc)
        temporary.write_bytes(doc_bin.to_bytes())
    return len(doc_bin)


def read_docbin(path: Path, vocab: Vocab | None = None, opened: OpenedFile | None = None) -> Iterator[Doc]:
    """Read a `.spacy` file from any program.

    Args:
        vocab: The vocabulary of the pipeline that will process the documents.
        opened: The file, if it is open already.

    Raises:
        CannotReadError: The file cannot be read.
        DamagedError: The file is not a complete `.spacy` file, or a document does not fit its annotations.
    """
    with open_unpacked(path, opened=opened) as file:
        content = file.read()
    try:
        _check_packed(path, content)
        doc_bin = DocBin(store_user_data=True).from_bytes(content)
        columns: tuple[Sized, ...] = (doc_bin.spaces, doc_bin.flags, doc_bin.cats, doc_bin.span_groups)
        if {len(doc_bin), *map(len, columns), len(doc_bin.user_data) or len(doc_bin)} != {len(doc_bin)}:
            raise ValueError("its parts have different numbers of documents")  # spaCy would leave out the last ones
        docs = doc_bin.get_docs(vocab if vocab is not None else Vocab())
    except LimitError:
        raise
    except Exception as error:  # errors of zlib, msgpack and spaCy have no common base
        raise _damaged(path, error) from error
    for number in count(1):
        try:
            doc = next(docs, None)
            if doc is None:
                return
            _check(doc)
        except Exception as error:
            raise _damaged(path, f"document {number}: {error}") from error
        yield doc


def _damaged(path: Path, reason: object) -> DamagedError:
    return DamagedError(path=path, reason=f"not a .spacy file: {reason}", remedy="Convert the corpus again.")


def _check_packed(path: Path, content: bytes) -> None:
    """Unpack the content piece by piece, without keeping it: spaCy would unpack it at once, whatever its size."""
    unpacking, unpacked = zlib.decompressobj(), 0
    for start in range(0, len(content), _CHUNK):
        packed = content[start : start + _CHUNK]
        while packed:
            unpacked += len(unpacking.decompress(packed, _UNPACKED))
            packed = unpacking.unconsumed_tail
            check_ratio(path, unpacked, min(start + _CHUNK, len(content)))
        if unpacking.eof:  # zlib would copy all that follows again and again
            return


def _check(doc: Doc) -> None:
    """Check that the strings of a document are known, and that its mentions are in its text."""
    text = doc.text  # spaCy looks up its strings
    for span in (*doc.ents, *(span for group in doc.spans.values() for span in group)):
        _ = span.label_, span.kb_id_
    if not isinstance(doc.user_data.get(DOC_ID, ""), str):
        raise TypeError(f"its {DOC_ID} is not a text")
    weight = doc.user_data.get(WEIGHT, 1.0)
    if not isinstance(weight, float | int) or not math.isfinite(weight):
        raise TypeError(f"its {WEIGHT} is not a number")
    for mention in from_doc(doc).mentions:
        pieces = ((mention.start, mention.end), *mention.offsets)
        if not all(type(offset) is int for piece in pieces for offset in piece):
            raise TypeError("an offset of a mention is not a whole number")
        if not all(0 <= start <= end <= len(text) for start, end in pieces):
            raise ValueError(f"the mention {mention.start}:{mention.end} is not in its text")
        if text[mention.start : mention.end] != mention.text:
            raise ValueError(f"its text is another one at {mention.start}:{mention.end} than that of the mention")
        if not all(isinstance(value, str) for value in (*mention[2:4], *mention.ids, *mention.parts)):
            raise TypeError(f"the mention {mention.start}:{mention.end} has values that are not texts")


def read_docbin_documents(source: DocumentSource) -> Iterator[Document]:
    """Read a `.spacy` file as documents. The id of one without an id joins file name and number with a colon."""
    for number, doc in enumerate(read_docbin(source.path, opened=source.opened), start=1):
        document = from_doc(doc)
        doc_id = document.doc_id or source.numbered(number)
        yield document._replace(doc_id=doc_id, position=source.place(number, "document"))
