"""Read and write `.spacy` files: spaCy's `DocBin` with all user data. Read them as examples for training."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Sized
from itertools import count
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.training import Example
from spacy.training.corpus import create_docbin_reader
from spacy.util import filter_spans
from spacy.vocab import Vocab

from ..errors import DamagedError, Errors, LimitError, TrainingDataError
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


# --- examples: with given mentions for a linker, or as spaCy reads them

SUFFIX = ".spacy"


def mention_corpus(path: str, spans_key: str | None = None, limit: int = 0) -> Callable[[Language], Iterator[Example]]:
    """Read a `.spacy` file for a linker. The predicted documents have the gold mentions, but not their ids.

    The tokens are those of the file, so every mention that is a span in the file is a span here.

    Args:
        path: A file that `spacy-sapbert convert` wrote, or any file with entities that have a `kb_id_`.
        spans_key: Use the mentions in `doc.spans[spans_key]` instead of `doc.ents`.
        limit: Maximum number of documents; 0 for all.

    Raises:
        TrainingDataError: E571 if it is a file of another kind. A `DamagedError` if it cannot be read.
    """

    def read(nlp: Language) -> Iterator[Example]:
        check_suffix(path)
        for number, reference in enumerate(read_docbin(Path(path), nlp.vocab)):
            if limit and number == limit:
                return
            yield with_mentions_given(reference, spans_key)

    return read


def document_corpus(
    path: str | None,
    gold_preproc: bool = False,
    max_length: int = 0,
    limit: int = 0,
    augmenter: Callable[..., Any] | None = None,
) -> Callable[[Language], Iterator[Example]]:
    """Read a `.spacy` file, or a folder of them, as `spacy.Corpus.v1` does. Only long documents are split otherwise.

    Args:
        gold_preproc: Whether the predicted documents have the sentences and tokens of the annotated ones.
        max_length: Documents with more tokens are split, see `pieces_of`; 0 for no limit. spaCy would leave out those
            without sentences, and forget which types the others annotate.
        limit: Maximum number of documents; 0 for all.
        augmenter: A function that adds variants of documents.

    Raises:
        TrainingDataError: E571 if it is a file of another kind.
    """
    corpus = create_docbin_reader(path, gold_preproc, 0, limit, augmenter)

    def read(nlp: Language) -> Iterator[Example]:
        check_suffix(path)
        for example in corpus(nlp):
            reference = example.reference
            if not 0 < max_length < len(reference):
                yield example
                continue
            keep_tokens = gold_preproc or reference.has_unknown_spaces
            for piece in pieces_of(reference, max_length):
                yield Example(without_annotation(piece) if keep_tokens else nlp.make_doc(piece.text), piece)

    return read


def pieces_of(doc: Doc, max_length: int) -> Iterator[Doc]:
    """Split a document into pieces of at most `max_length` tokens, as long as they can be.

    A piece ends before a sentence if the document has sentences, else between two tokens. It never ends inside an
    entity, unless the entity is longer than a piece. Pieces keep entities, span groups and user data.
    """
    start = 0
    while start < len(doc):
        end = min(start + max_length, len(doc))
        if end < len(doc):
            places = [token for token in doc[start + 1 : end + 1] if token.ent_iob_ != "I"]
            sentences = [token for token in places if token.is_sent_start]
            end = next((token.i for token in reversed(sentences or places)), end)
        piece = doc[start:end].as_doc(copy_user_data=True)
        for key, group in doc.spans.items():
            inside = [span for span in group if start <= span.start and span.end <= end]
            piece.spans[key] = [
                Span(piece, span.start - start, span.end - start, span.label_, kb_id=span.kb_id_) for span in inside
            ]
        yield piece
        start = end


def check_suffix(path: str | Path | None) -> None:
    """Check that the path of training data is a `.spacy` file. A folder and a missing file pass."""
    file = Path(path or SUFFIX)
    if file.suffix != SUFFIX and file.is_file():
        raise TrainingDataError(Errors.E571.format(path=file))


def with_mentions_given(reference: Doc, spans_key: str | None = None) -> Example:
    """Return an example in which the predicted document has the gold tokens and mentions, but no ids."""
    predicted = without_annotation(reference)
    add_gold_mentions(predicted, reference, spans_key)
    return Example(predicted, reference)


def without_annotation(doc: Doc) -> Doc:
    """Return a document with the same tokens and nothing else."""
    return Doc(doc.vocab, [token.text for token in doc], [bool(token.whitespace_) for token in doc])


def add_gold_mentions(doc: Doc, reference: Doc, spans_key: str | None) -> None:
    """Copy the mentions of another document with the same text, without their ids.

    A mention that does not match the tokens is left out. If entities overlap, only the longest is kept.
    """
    mentions = reference.ents if spans_key is None else reference.spans.get(spans_key, ())
    offsets = [(mention.start_char, mention.end_char, mention.label_) for mention in mentions]
    spans = [span for start, end, label in offsets if (span := doc.char_span(start, end, label=label)) is not None]
    if spans_key is None:
        doc.ents = filter_spans(spans)
    else:
        doc.spans[spans_key] = spans
