"""`abbreviation_resolver`: which abbreviations a document defines, and where it uses them."""

from pathlib import Path
from typing import Any, Dict, Iterable, List, Tuple

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
    """Finds the definitions of abbreviations and resolves every use of them, whatever the tokenizer.

    `doc._.abbreviations` holds a span for every use of a short form, and `span._.long_form` the span of its long form,
    or a string where the long form is only in the list of known ones.

    min_precision (float): the least estimated precision of a strategy that may find a definition, 0 to 1.
    known (Dict[str, str]): long forms of short forms that a text need not define. What it defines itself goes first.

    Both are saved with the component, and what is saved goes before the config.
    RAISES (SapbertError): E406 a precision outside 0 to 1; E410 a known short or long form that is empty.
    """

    def __init__(
        self,
        vocab: Vocab,
        name: str = "abbreviation_resolver",
        *,
        min_precision: float = 0.9,
        known: Dict[str, str] = {},  # noqa: B006 (copied)
    ) -> None:
        self.vocab = vocab
        self.name = name
        self._set({"min_precision": min_precision, "known": known})
        register()

    def __call__(self, doc: Doc) -> Doc:
        """Find the abbreviations of one document and write them to it."""
        self.set_annotations([doc], self.predict([doc]))
        return doc

    def predict(self, docs: Iterable[Doc]) -> List[List[Use]]:
        """RETURNS (List[List[Use]]): the uses of short forms in each document; the documents stay as they are."""
        return [self._find_uses(doc.text) for doc in docs]

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[List[Use]]) -> None:
        """Write to the documents what `predict` found for them."""
        register()
        for doc, uses in zip(docs, predictions):
            set_uses(doc, uses)

    def to_bytes(self, *, exclude: Iterable[str] = tuple()) -> bytes:
        data: bytes = srsly.msgpack_dumps(self._settings())
        return data

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = tuple()) -> "AbbreviationResolver":
        self._set(srsly.msgpack_loads(data))
        return self

    def to_disk(self, path: Any, *, exclude: Iterable[str] = tuple()) -> None:
        folder: Path = ensure_path(path)
        folder.mkdir(parents=True, exist_ok=True)
        srsly.write_json(folder / SETTINGS_FILE, self._settings())

    def from_disk(self, path: Any, *, exclude: Iterable[str] = tuple()) -> "AbbreviationResolver":
        """RAISES (SapbertError): E401 no component was saved there."""
        file: Path = ensure_path(path) / SETTINGS_FILE
        if not file.is_file():
            raise SapbertError(Errors.E401.format(path=path))
        self._set(srsly.read_json(file))
        return self

    def __reduce__(self) -> Tuple[Any, ...]:
        return _rebuild, (self.vocab, self.name, self._settings())

    def _find_uses(self, text: str) -> List[Use]:
        return find_uses(text, find_definitions(text, min_precision=self.min_precision), self.known)

    def _settings(self) -> Dict[str, Any]:
        return {"min_precision": self.min_precision, "known": self.known}

    def _set(self, settings: Dict[str, Any]) -> None:
        self.min_precision: float = settings["min_precision"]
        self.known: Dict[str, str] = dict(settings["known"])


def _rebuild(vocab: Vocab, name: str, settings: Dict[str, Any]) -> AbbreviationResolver:
    return AbbreviationResolver(vocab, name, **settings)
