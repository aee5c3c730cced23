"""Encode names with a table of sub-word vectors: a sum for each name, with NumPy alone."""

# no postponed annotations here: spaCy could not check the settings of a registered class

import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ChoiceError, DamagedError, Errors, MismatchError, SapbertError, SettingError
from ..settings_block import check_counts
from ..store.artifact import ENCODER_FOLDER, Artifact, fingerprint_of
from ..text.characters import code_points
from ..text.normalize import TEXT_NORMALIZERS, normal_forms
from .folder import (
    FORMAT,
    SETTINGS_FILE,
    STATIC,
    TABLE_FILE,
    read_licences,
    read_settings,
    reading_folder,
    replacing_encoder,
    resolve,
    write_json,
)
from .ngrams import LexicalModel

if TYPE_CHECKING:
    import torch

_BLANK = 32
_BASE = np.uint64(0x9E3779B97F4A7C15)
# finalizer of MurmurHash3, 64 bits (Austin Appleby, public domain)
_NUMBERS = ((33, 0xFF51AFD7ED558CCD), (33, 0xC4CEB9FE1A85EC53))
_MIX = tuple(map(tuple, np.array(_NUMBERS, dtype=np.uint64)))
_MASK = 2**64 - 1
_FEW_CHARACTERS = 128  # for which plain Python is faster than NumPy
_CACHED = 1 << 12  # words
_NAMES_AT_ONCE = 4096
_FEW = 4  # texts
_FEW_ROWS = 4096  # of them together
_LEVELS = 127


class Subwords(NamedTuple):
    """Finds the rows of the words and the character n-grams of texts.

    A word is one row of the first part of the table. Its n-grams are rows of the second part. They see the start and
    the end of the word as a blank, so that "ache" at the end of a word differs from "ache" inside. Texts with equal
    words in another order have equal rows.

    Attributes:
        words: The number of rows for words.
        ngrams: The number of rows for n-grams.
        sizes: The numbers of characters of the n-grams, each at least 2.
    """

    words: int
    ngrams: int
    sizes: tuple[int, ...]

    @property
    def rows(self) -> int:
        """The number of all rows."""
        return self.words + self.ngrams

    def __call__(self, forms: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows of each text, in time linear in its length.

        Args:
            forms: Texts in normal form. Line ends and runs of blanks count as one blank.

        Returns:
            The rows, text by text, and where each text starts, with the end of the last one, both int64. A text without
            words has no rows.
        """
        if sum(map(len, forms)) <= _FEW_CHARACTERS:
            return self._few(forms)
        codes, starts = code_points([f" {' '.join(form.split())} " for form in forms])
        owners = np.repeat(np.arange(len(forms)), np.diff(starts))
        kinds = [(rows, owners[places]) for rows, places in self._kinds(codes.astype(np.uint64))]
        return _join(kinds, len(forms))

    def _few(self, forms: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Do the same word by word, which is faster for a short text."""
        rows: list[int] = []
        starts = [0]
        for form in forms:
            of_words = [_word_rows(self, word) for word in form.split()]
            rows += chain.from_iterable(chain.from_iterable(zip(*of_words, strict=True)))
            starts.append(len(rows))
        return np.array(rows, dtype=np.int64), np.array(starts, dtype=np.int64)

    def _kinds(self, codes: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the rows of the words, and of the n-grams of each size, with the place where each begins."""
        is_blank = codes == _BLANK
        word_starts = np.flatnonzero(is_blank[:-1] & ~is_blank[1:]) + 1
        yield _mixed(_word_hashes(codes, is_blank, word_starts), 1) % self.words, word_starts
        blanks = np.concatenate([[0], np.cumsum(is_blank)])
        for size in self.sizes:
            n_windows = max(len(codes) - size + 1, 0)
            hashes = np.zeros(n_windows, dtype=np.uint64)
            for place in range(size):
                hashes = hashes * _BASE + codes[place : place + n_windows]
            inside = blanks[size - 1 : size - 1 + n_windows] - blanks[1 : 1 + n_windows]
            places = np.flatnonzero((inside == 0) & ~(is_blank[:n_windows] & is_blank[1 : 1 + n_windows]))
            yield self.words + _mixed(hashes[places], size) % self.ngrams, places


@lru_cache(maxsize=_CACHED)
def _word_rows(subwords: Subwords, word: str) -> list[list[int]]:
    """Return the row of a word, and the rows of its n-grams of each size, by the hashes of the functions below."""
    base, codes = int(_BASE), [_BLANK, *map(ord, word), _BLANK]
    whole, of_size = 0, {1: codes}
    for code in reversed(codes[1:-1]):
        whole = (whole + code) * base & _MASK
    for size in range(2, max(subwords.sizes) + 1):  # each n-gram goes on from a shorter one
        shorter = zip(of_size[size - 1], codes[size - 1 :], strict=False)
        of_size[size] = [number * base + code & _MASK for number, code in shorter]
    ngrams = [_mixed_numbers(of_size[size], size) for size in subwords.sizes]
    rows = [[subwords.words + number % subwords.ngrams for number in numbers] for numbers in ngrams]
    return [[_mixed_numbers([whole], 1)[0] % subwords.words], *rows]


def _mixed_numbers(hashes: list[int], salt: int) -> list[int]:
    """Return what `_mixed` does, without NumPy."""
    mixed, start = [], salt * int(_BASE)
    (shift, factor), (other_shift, other_factor) = _NUMBERS
    for number in hashes:
        number = number + start & _MASK
        number = (number ^ number >> shift) * factor & _MASK
        number = (number ^ number >> other_shift) * other_factor & _MASK
        mixed.append(number ^ number >> 33)
    return mixed


def _word_hashes(codes: np.ndarray, is_blank: np.ndarray, word_starts: np.ndarray) -> np.ndarray:
    """Return a hash of each word: the sum of its characters times powers of a number."""
    if not len(word_starts):
        return np.zeros(0, dtype=np.uint64)
    begins = np.zeros(len(codes), dtype=np.int64)
    begins[word_starts] = word_starts
    places = np.arange(len(codes)) - np.maximum.accumulate(begins)
    powers = np.cumprod(np.full(int(places[~is_blank].max()) + 1, _BASE))
    terms = np.where(is_blank, 0, codes * powers[np.minimum(places, len(powers) - 1)]).astype(np.uint64)
    return np.add.reduceat(terms, word_starts)


def _mixed(hashes: np.ndarray, salt: int) -> np.ndarray:
    """Return hashes of which all bits depend on all bits."""
    hashes = hashes + np.array([salt], dtype=np.uint64) * _BASE
    for shift, factor in _MIX:
        hashes = (hashes ^ (hashes >> shift)) * factor
    return hashes ^ (hashes >> np.uint64(33))


def _join(kinds: list[tuple[np.ndarray, np.ndarray]], n_texts: int) -> tuple[np.ndarray, np.ndarray]:
    """Put the rows of several kinds, each sorted by text, side by side for each text."""
    counts = [np.bincount(owners, minlength=n_texts) for _, owners in kinds]
    starts = np.concatenate([[0], np.cumsum(sum(counts))]).astype(np.int64)
    rows = np.empty(int(starts[-1]), dtype=np.int64)
    begins = starts[:-1].copy()
    for (found, owners), number in zip(kinds, counts, strict=True):
        firsts = np.cumsum(number) - number
        rows[np.arange(len(found)) + (begins - firsts)[owners]] = found
        begins += number
    return rows, starts


class StaticEncoder:
    """A table of vectors of words and character n-grams. The vector of a name is their sum, scaled to unit length.

    It needs no network and no torch, and encodes about a hundred times as many names a second as a small transformer.
    The order of the words does not matter. The table is trained as other encoders are, with `spacy-sapbert pretrain`.

    Args:
        name: A folder. None makes a new table, with the following settings.
        dim: The length of a vector.
        words: The number of rows for words. Words with equal hashes share a row.
        ngrams: The number of rows for character n-grams.
        sizes: The numbers of characters of the n-grams, from 2 to 16, each once.
        text_normalizer: The normal form in which names are read.
        seed: Draws the vectors of a new table.

    Attributes:
        trained: The training data, the settings, and a `history` of the steps. It is saved with the encoder.

    Raises:
        SapbertError: E301 there is no such folder, E302 a settings file is invalid, E305 it is another encoder, E406 a
            number is impossible, E125 the normal form does not exist, E121 the table is damaged.
    """

    l2_normalized = True
    lexical_model: LexicalModel | None = None
    device = "cpu"

    def __init__(
        self,
        name: str | None = None,
        *,
        dim: int = 128,
        words: int = 32768,
        ngrams: int = 65536,
        sizes: Sequence[int] = (3, 4, 5),
        text_normalizer: str = "biosyn+greek",
        seed: int = 0,
    ) -> None:
        self.name = "a new table" if name is None else resolve(name)
        self.trained: dict[str, Any] = {}
        self._licences: dict[str, bytes] = {}
        if name is not None:
            with reading_folder(self.name):
                settings = _settings_of(self.name)
                dim, words, ngrams = (int(settings[key]) for key in ("dim", "words", "ngrams"))
                sizes, text_normalizer = tuple(map(int, settings["sizes"])), str(settings["text_normalizer"])
                self.trained = dict(settings.get("trained", {}))
            self._licences = read_licences(Path(self.name))
        owner = type(self).__name__ if name is None else self.name
        check_counts(owner, dim=dim, words=words, ngrams=ngrams)
        if not sizes or len(set(sizes)) < len(sizes) or not set(sizes).issubset(range(2, 17)):
            raise SettingError(setting="sizes", component=owner, value=sizes, wanted="numbers from 2 to 16, each once")
        if text_normalizer not in TEXT_NORMALIZERS:
            raise ChoiceError(given=text_normalizer, what="text_normalizer", choices=TEXT_NORMALIZERS)
        self.dim = dim
        self.text_normalizer = text_normalizer
        self.subwords = Subwords(words, ngrams, tuple(sizes))
        self._seed = seed if name is None else None

    def __repr__(self) -> str:
        return f"StaticEncoder({self.name!r}, {self.subwords.rows:,} rows of {self.dim}, {self.text_normalizer!r})"

    @property
    def settings(self) -> dict[str, Any]:
        """The shape of the table, and the normal form."""
        return {"dim": self.dim, **self.subwords._asdict(), "text_normalizer": self.text_normalizer}

    @cached_property
    def _table(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows, int8, shape (rows, dim), and the factor of each, float32, shape (rows, 1)."""
        if self._seed is not None:
            rng = np.random.default_rng(self._seed)
            return _compressed(rng.standard_normal((self.subwords.rows, self.dim), dtype=np.float32) / 10)
        from safetensors import safe_open

        path = Path(self.name) / TABLE_FILE
        with reading_folder(self.name), safe_open(path, "np") as file:
            rows, factors = file.get_tensor("rows"), file.get_tensor("factors")
        if rows.shape != (self.subwords.rows, self.dim) or factors.shape != (self.subwords.rows, 1):
            reason = f"its table has the shape {rows.shape}, and its settings say {(self.subwords.rows, self.dim)}"
            raise DamagedError("Get the encoder again.", path=self.name, reason=reason)
        if (rows.dtype, factors.dtype) != (np.int8, np.float32):
            reason = f"its table has numbers of the types {rows.dtype} and {factors.dtype}, not int8 and float32"
            raise DamagedError("Get the encoder again.", path=self.name, reason=reason)
        return rows, factors

    @cached_property
    def fingerprint(self) -> str:
        """A hash of table and settings. Equal hashes give equal vectors."""
        digest = hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode())
        for array in self._table:
            digest.update(array.ravel().data)
        return digest.hexdigest()

    def encode(self, texts: Sequence[str], *, fast: bool = False) -> np.ndarray:
        """Encode names.

        Args:
            fast: Changes nothing here. It is an option of other encoders.

        Returns:
            float32, shape (len(texts), dim): Vectors of unit length; zeros for a text without words.

        Raises:
            SapbertError: E121 a vector has values that are not numbers.
        """
        from scipy.sparse import csr_matrix

        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        numbers, factors = self._table
        for start in range(0, len(texts), _NAMES_AT_ONCE):
            rows, starts = self.subwords(normal_forms(texts[start : start + _NAMES_AT_ONCE], self.text_normalizer))
            if len(texts) <= _FEW and len(rows) <= _FEW_ROWS:  # without a sparse matrix
                sums = np.split(numbers[rows] * factors[rows], starts[1:-1])
                vectors[:] = [vectors_of_text.sum(axis=0) for vectors_of_text in sums]
                break
            used, columns = _distinct(rows, len(numbers))
            counts = csr_matrix((np.ones(len(rows), np.float32), columns, starts), shape=(len(starts) - 1, len(used)))
            vectors[start : start + _NAMES_AT_ONCE] = counts @ (numbers[used] * factors[used])
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all():
            raise DamagedError("Get the encoder again.", path=self.name, reason="it gives vectors that are not numbers")
        return np.divide(vectors, lengths, out=vectors, where=lengths > 0)

    # --- training

    @cached_property
    def model(self) -> "torch.nn.Embedding":
        """The table as a module of torch, which can be trained."""
        import torch

        numbers, factors = self._table
        weights = torch.from_numpy(numbers * factors)
        return torch.nn.Embedding.from_pretrained(weights, freeze=False, sparse=True)

    def tokenize(self, forms: Sequence[str]) -> Sequence[Any]:
        """Return the rows of each name."""
        rows, starts = self.subwords(forms)
        return np.split(rows, starts[1:-1])

    def embed_by_length(self, pieces: Sequence[Any]) -> "torch.Tensor":
        """Encode names given by their rows. The caller decides whether gradients are computed.

        Returns:
            float32, shape (len(pieces), dim): Vectors of unit length. There may be none.
        """
        import torch

        if not len(pieces):
            return torch.zeros((0, self.dim))
        starts = torch.from_numpy(np.cumsum([0, *map(len, pieces)])[:-1])
        # each row is read once, which makes the gradient of a batch small
        used, columns = _distinct(np.concatenate(pieces), self.subwords.rows)
        rows = self.model(torch.from_numpy(used))
        sums = torch.nn.functional.embedding_bag(torch.from_numpy(columns), rows, starts, mode="sum")
        return torch.nn.functional.normalize(sums, dim=-1)

    def replace(self, model: "torch.nn.Embedding") -> None:
        """Take the trained weights of a module as the table."""
        self.model = model
        self._table = _compressed(model.weight.detach().numpy())
        self.__dict__.pop("fingerprint", None)

    def record(self, step: str, **details: Any) -> None:
        """Add a step to the history in `trained`."""
        self.trained.setdefault("history", []).append({"step": step, **details})

    # --- files

    def save(self, folder: Path) -> None:
        """Write table and settings. The folder can then be used as `name`.

        Raises:
            SapbertError: E507 it cannot be written, or holds files that are not part of an encoder.
        """
        from safetensors.numpy import save

        rows, factors = self._table
        with replacing_encoder(folder) as new:
            (new / TABLE_FILE).write_bytes(save({"rows": np.ascontiguousarray(rows), "factors": factors}))
            write_json(new / SETTINGS_FILE, {"format": FORMAT, STATIC: {**self.settings, "trained": self.trained}})
            for name, content in self._licences.items():
                (new / name).write_bytes(content)

    def artifact(self) -> Artifact:
        """Return the folder of the encoder as an artifact of a component."""
        return Artifact(ENCODER_FOLDER, fingerprint_of(self.fingerprint, self.trained), self.save)


def _settings_of(name: str) -> dict[str, Any]:
    """Return the settings of the table in a folder."""
    if not Path(name).is_dir():
        raise SapbertError(Errors.E301.format(name=name, reason="a table of sub-word vectors is a folder"))
    settings = read_settings(name)
    if STATIC not in settings:
        remedy = "Use `TransformerEncoder` or `open_encoder`."
        raise MismatchError(remedy, path=name, reason="it is not a table of sub-word vectors")
    found: dict[str, Any] = settings[STATIC]
    return found


def _distinct(rows: np.ndarray, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows, and the place of each row among them."""
    if len(rows) < n_rows // 64:  # for few rows, sorting is faster
        return np.unique(rows, return_inverse=True)
    places = np.zeros(n_rows, dtype=np.int64)
    places[rows] = 1
    used = np.flatnonzero(places)
    places[used] = np.arange(len(used))
    return used, places[rows]


def _compressed(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows as int8, and the factor of each."""
    factors = np.maximum(np.abs(weights).max(axis=1, keepdims=True), np.finfo(np.float32).tiny) / _LEVELS
    return np.rint(weights / factors).astype(np.int8), factors.astype(np.float32)
