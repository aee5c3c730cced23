"""`abbreviation_resolver`: which abbreviations a document defines, and where it uses them."""

import os
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Tuple

import srsly
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc
from spacy.util import ensure_path
from spacy.vocab import Vocab

from ..errors import Errors, SapbertError
from ..text.abbreviations import Use, find_definitions, find_uses
from .attributes import register, set_uses

SETTINGS_FILE = "settings.json"


@Language.factory(
    "abbreviation_resolver",
    assigns=["doc._.abbreviations", "span._.long_form"],
    default_config={"min_precision": 0.9, "known": {}},
)
def make_abbreviation_resolver(
    nlp: Language, name: str, min_precision: float, known: Dict[str, str]
) -> "AbbreviationResolver":
    return AbbreviationResolver(nlp.vocab, name, min_precision=min_precision, known=known)


class AbbreviationResolver(Pipe):
    """Finds the definitions of abbreviations in a document, and every use of them.

    `doc._.abbreviations` holds a span for each use of a short form, that of its definition included. Its
    `span._.long_form` is the span of the long form, or a string where only the list of known ones has it. What is found
    does not depend on the tokenizer; a short form inside a token gives the whole token.

    min_precision (float): the least precision that a definition is expected to have, 0 to 1.
    known (Mapping[str, str]): short forms with their long forms, for those that a document does not define itself.

    Both are saved with the component, and what is saved goes before the config.
    RAISES (SapbertError): E406 a precision outside 0 to 1, E410 an empty known form.
    """

    def __init__(
        self,
        vocab: Vocab,
        name: str = "abbreviation_resolver",
        *,
        min_precision: float = 0.9,
        known: Mapping[str, str] = {},
    ) -> None:
        self.vocab = vocab
        self.name = name
        self._set(min_precision, known)
        register()

    def __call__(self, doc: Doc) -> Doc:
        """Find the abbreviations of one document and write them to it."""
        self.set_annotations([doc], self.predict([doc]))
        return doc

    def predict(self, docs: Iterable[Doc]) -> List[List[Use]]:
        """RETURNS (List[List[Use]]): the uses of short forms in each document; the documents stay as they are."""
        return [self._find_uses(doc.text) for doc in docs]

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[List[Use]]) -> None:
        """Write to the documents what `predict` found for them, in place of what they had."""
        register()  # scispaCy may have replaced the attributes since
        for doc, uses in zip(docs, predictions):
            set_uses(doc, uses)

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        data: bytes = srsly.msgpack_dumps(self._settings())
        return data

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "AbbreviationResolver":
        self._set(**srsly.msgpack_loads(data))
        return self

    def to_disk(self, path: Any, *, exclude: Iterable[str] = ()) -> None:
        folder: Path = ensure_path(path)
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f"{SETTINGS_FILE}.tmp"
        srsly.write_json(temporary, self._settings())
        os.replace(temporary, folder / SETTINGS_FILE)

    def from_disk(self, path: Any, *, exclude: Iterable[str] = ()) -> "AbbreviationResolver":
        """RAISES (SapbertError): E401 no component was saved there, E420 its settings are damaged."""
        file: Path = ensure_path(path) / SETTINGS_FILE
        if not file.is_file():
            raise SapbertError(Errors.E401.format(path=path))
        try:
            settings = srsly.read_json(file)
            min_precision, known = float(settings["min_precision"]), dict(settings["known"])
        except (ValueError, KeyError, TypeError) as error:
            raise SapbertError(Errors.E420.format(path=file, reason=repr(error))) from error
        self._set(min_precision, known)
        return self

    def __reduce__(self) -> Tuple[Any, ...]:
        return _rebuild, (self.vocab, self.name, self._settings())

    def _find_uses(self, text: str) -> List[Use]:
        return find_uses(text, find_definitions(text, min_precision=self.min_precision), self.known)

    def _settings(self) -> Dict[str, Any]:
        return {"min_precision": self.min_precision, "known": self.known}

    def _set(self, min_precision: float, known: Mapping[str, str]) -> None:
        if not 0 <= min_precision <= 1:
            wanted = "from 0 to 1"
            raise SapbertError(
                Errors.E406.format(setting="min_precision", component=self.name, value=min_precision, wanted=wanted)
            )
        for short, long in known.items():
            if not short.strip() or not long.strip():
                raise SapbertError(Errors.E410.format(short=short, long=long))
        self.min_precision = min_precision
        self.known = dict(known)


def _rebuild(vocab: Vocab, name: str, settings: Dict[str, Any]) -> AbbreviationResolver:
    return AbbreviationResolver(vocab, name, **settings)
