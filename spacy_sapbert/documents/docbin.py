"""Read and write `.spacy` files: spaCy's `DocBin` with all user data."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator, Sized
from itertools import count
from pathlib import Path

from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from ..errors import Errors, SapbertError
from ..files.bounds import check_ratio
from ..files.output import replacing
from ..types import Document
from .docs import DOC_ID, WEIGHT, from_doc
from .source import Source

_CHUNK, _UNPACKED = 1 << 16, 1 << 20


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
        SapbertError: E210 if the file cannot be read, is not a complete `.spacy` file, or a document does not fit its
            annotations.
    """
    _check_packed(path)
    try:
        doc_bin = DocBin(store_user_data=True).from_disk(path)
        columns: tuple[Sized, ...] = (doc_bin.spaces, doc_bin.flags, doc_bin.cats, doc_bin.span_groups)
        if {len(doc_bin), *map(len, columns), len(doc_bin.user_data) or len(doc_bin)} != {len(doc_bin)}:
            raise ValueError("its parts have different numbers of documents")  # spaCy would leave out the last ones
        docs = doc_bin.get_docs(vocab if vocab is not None else Vocab())
    except Exception as error:  # errors of zlib, msgpack and spaCy have no common base
        raise SapbertError(Errors.E210.format(path=path, reason=error)) from error
    for number in count(1):
        try:
            doc = next(docs, None)
            if doc is None:
                return
            _check(doc)
        except Exception as error:
            raise SapbertError(Errors.E210.format(path=path, reason=f"document {number}: {error}")) from error
        yield doc


def _check_packed(path: Path) -> None:
    """Unpack a file piece by piece, without keeping it: spaCy would unpack it at once, whatever its size.

    Raises:
        SapbertError: E210 it cannot be read or unpacked, E587 it unpacks to too many bytes.
    """
    try:
        with path.open("rb") as file:
            unpacking, unpacked = zlib.decompressobj(), 0
            # zlib would copy all that follows the end again and again
            while not unpacking.eof and (packed := file.read(_CHUNK)):
                while packed:
                    unpacked += len(unpacking.decompress(packed, _UNPACKED))
                    packed = unpacking.unconsumed_tail
                    check_ratio(path, unpacked, file.tell())
    except (OSError, zlib.error) as error:
        raise SapbertError(Errors.E210.format(path=path, reason=error)) from error


def _check(doc: Doc) -> None:
    """Check that the strings of a document are known, and that its mentions are in its text.

    Raises:
        ValueError, KeyError, TypeError: They are not.
    """
    text = doc.text  # spaCy looks up its strings
    for span in (*doc.ents, *(span for group in doc.spans.values() for span in group)):
        _ = span.label_, span.kb_id_
    if not isinstance(doc.user_data.get(DOC_ID, ""), str):
        raise TypeError(f"its {DOC_ID} is no text")
    weight = doc.user_data.get(WEIGHT, 1.0)
    if not isinstance(weight, float | int) or not math.isfinite(weight):
        raise TypeError(f"its {WEIGHT} is no number")
    for mention in from_doc(doc).mentions:
        pieces = ((mention.start, mention.end), *mention.offsets)
        if not all(type(place) is int for piece in pieces for place in piece):
            raise TypeError("an offset of a mention is no whole number")
        if not all(0 <= start <= end <= len(text) for start, end in pieces):
            raise ValueError(f"the mention {mention.start}:{mention.end} is not in its text")
        if text[mention.start : mention.end] != mention.text:
            raise ValueError(f"its text is another one at {mention.start}:{mention.end} than that of the mention")
        if not all(isinstance(value, str) for value in (*mention[2:4], *mention.ids, *mention.parts)):
            raise TypeError(f"the mention {mention.start}:{mention.end} has values that are no texts")


def read_docbin_corpus(source: Source) -> Iterator[Document]:
    """Read a `.spacy` file as a corpus.

    Yields:
        The documents as `from_doc` returns them. If a document has no id, its id joins file name and number with a
        colon.
    """
    for number, doc in enumerate(read_docbin(source.path), start=1):
        document = from_doc(doc)
        yield document if document.doc_id else document._replace(doc_id=f"{source.path.name}:{number}")
