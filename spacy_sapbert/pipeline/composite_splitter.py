"""`composite_splitter`: offers readings of composite mentions, for the linker to choose from."""

import os
from pathlib import Path
from typing import Any, Dict, Iterable, List, Optional, Tuple

import srsly
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.tokens import Doc, Span
from spacy.util import ensure_path
from spacy.vocab import Vocab

from ..errors import Errors, SapbertError
from ..text.abbreviations import Use, expand
from ..text.composites import readings
from .attributes import get_readings, get_uses, register, set_readings
from .mentions import mentions_of

SETTINGS_FILE = "settings.json"

Readings = List[Tuple[str, ...]]


@Language.factory(
    "composite_splitter",
    assigns=["span._.readings"],
    default_config={"spans_key": None, "max_readings": 6},
)
def make_composite_splitter(
    nlp: Language, name: str, spans_key: Optional[str], max_readings: int
) -> "CompositeSplitter":
    return CompositeSplitter(nlp.vocab, name, spans_key=spans_key, max_readings=max_readings)


class CompositeSplitter(Pipe):
    """Writes what a composite mention may stand for to `span._.readings`, the most plausible reading first.

    A reading is a tuple of texts, one for each single mention: ("breast cancer", "ovarian cancer"). Where the document
    has resolved abbreviations, the readings of the expanded mention come first. A mention without a connector has
    none.

    spans_key (str | None): the span group with the mentions; None for `doc.ents`.
    max_readings (int): at most so many readings of the mention as it stands, and of the expanded one.

    Both are saved with the component, and what is saved goes before the config.
    RAISES (SapbertError): E406 `max_readings` is less than 1.
    """

    def __init__(
        self,
        vocab: Vocab,
        name: str = "composite_splitter",
        *,
        spans_key: Optional[str] = None,
        max_readings: int = 6,
    ) -> None:
        self.vocab = vocab
        self.name = name
        self._set(spans_key, max_readings)
        register()

    def __call__(self, doc: Doc) -> Doc:
        """Find the readings of one document's mentions and write them to it."""
        self.set_annotations([doc], self.predict([doc]))
        return doc

    def predict(self, docs: Iterable[Doc]) -> List[List[Readings]]:
        """RETURNS (List[List[Readings]]): for each document the readings of each mention; the documents stay as is."""
        return [
            [self._readings(mention, get_uses(doc)) for mention in mentions_of(doc, self.spans_key)] for doc in docs
        ]

    def set_annotations(self, docs: Iterable[Doc], predictions: Iterable[List[Readings]]) -> None:
        """Write to the mentions what `predict` found for them, in place of what they had."""
        register()  # scispaCy may have replaced the attributes since
        for doc, found in zip(docs, predictions):
            for mention, its_readings in zip(mentions_of(doc, self.spans_key), found):
                if its_readings or get_readings(mention):
                    set_readings(mention, its_readings)

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        data: bytes = srsly.msgpack_dumps(self._settings())
        return data

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> "CompositeSplitter":
        self._set(**srsly.msgpack_loads(data))
        return self

    def to_disk(self, path: Any, *, exclude: Iterable[str] = ()) -> None:
        folder: Path = ensure_path(path)
        folder.mkdir(parents=True, exist_ok=True)
        temporary = folder / f"{SETTINGS_FILE}.tmp"
        srsly.write_json(temporary, self._settings())
        os.replace(temporary, folder / SETTINGS_FILE)

    def from_disk(self, path: Any, *, exclude: Iterable[str] = ()) -> "CompositeSplitter":
        """RAISES (SapbertError): E401 no component was saved there, E420 its settings are damaged."""
        file: Path = ensure_path(path) / SETTINGS_FILE
        if not file.is_file():
            raise SapbertError(Errors.E401.format(path=path))
        try:
            settings = srsly.read_json(file)
            spans_key, max_readings = settings["spans_key"], int(settings["max_readings"])
        except (ValueError, KeyError, TypeError) as error:
            raise SapbertError(Errors.E420.format(path=file, reason=repr(error))) from error
        self._set(spans_key, max_readings)
        return self

    def __reduce__(self) -> Tuple[Any, ...]:
        return _rebuild, (self.vocab, self.name, self._settings())

    def _readings(self, mention: Span, uses: List[Use]) -> Readings:
        forms = [mention.text]
        if uses:
            forms.insert(0, expand(mention.doc.text, mention.start_char, mention.end_char, uses))
        offered = (reading for form in forms for reading in readings(form, max_readings=self.max_readings))
        return list(dict.fromkeys(offered))

    def _settings(self) -> Dict[str, Any]:
        return {"spans_key": self.spans_key, "max_readings": self.max_readings}

    def _set(self, spans_key: Optional[str], max_readings: int) -> None:
        if max_readings < 1:
            raise SapbertError(
                Errors.E406.format(setting="max_readings", component=self.name, value=max_readings, wanted="at least 1")
            )
        self.spans_key = spans_key
        self.max_readings = max_readings


def _rebuild(vocab: Vocab, name: str, settings: Dict[str, Any]) -> CompositeSplitter:
    return CompositeSplitter(vocab, name, **settings)
