"""Encode names with a BERT-like encoder from a folder or a model hub."""

# no postponed annotations here: spaCy could not check the settings of a registered class

import copy
import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ChoiceError, DamagedError, SettingError, requiring
from ..store.artifact import ENCODER_FOLDER, Artifact, fingerprint_of
from ..text.normalize import TEXT_NORMALIZERS
from .additions import activation_of, get_projection
from .encoder import use_one_thread_after_fork
from .folder import (
    POOLER,
    load_model,
    load_tokenizer,
    read_lexical_model,
    read_licences,
    read_settings,
    resolve,
    stored_dtype,
    write_folder,
)

if TYPE_CHECKING:
    import torch

# wordpieces per batch: on a CPU, padding and full caches cost more than many small batches
_CPU_TOKENS, _GPU_TOKENS = 1024, 16384


class TransformerEncoder:
    """A Hugging Face encoder of names by pooled output. It reads weights and tokenizer at the first use.

    Args:
        name: A folder, a hub name such as `cambridgeltl/SapBERT-from-PubMedBERT-fulltext`, or "starter" for the encoder
            in the package.
        pooling: "cls" or "mean". None takes the encoder's own setting, else "cls", which SapBERT's models need.
        max_length: The most wordpieces of a name; the rest is cut off. None takes the encoder's own setting, else 25.
        text_normalizer: The normal form in which names are read. None takes the encoder's own setting, else
            "lower+greek".
        l2_normalized: Whether vectors are scaled to unit length, so that inner products are cosines. None takes the
            encoder's own setting, else True. BioSyn (Sung et al. 2020) does not scale them.
        device: "cpu", "cuda", "cuda:1", …; "auto" takes a GPU if there is one.

    Attributes:
        lexical_model (LexicalModel | None): The n-grams and λ that belong to the encoder, as in a published BioSyn
            model.
        trained: The training data, the settings, and a `history` of the steps. It is saved with the encoder.

    Raises:
        SapbertError: E302 a settings file is invalid, E125 the pooling or the normal form does not exist, E121 the
            lexical model is damaged, E542 torch or transformers is not installed.
    """

    def __init__(
        self,
        name: str,
        *,
        pooling: str | None = None,
        max_length: int | None = None,
        text_normalizer: str | None = None,
        l2_normalized: bool | None = None,
        device: str = "auto",
    ) -> None:
        self.name = resolve(name)
        with requiring("encoders", f"The encoder {name}"):
            import torch  # noqa: F401

            settings = read_settings(self.name)  # by transformers, for a hub name
        self.pooling = pooling or settings.get("pooling", "cls")
        self.max_length = max_length or int(settings.get("max_length", 25))
        self.text_normalizer = text_normalizer or settings.get("text_normalizer", "lower+greek")
        self.l2_normalized: bool = settings.get("l2_normalized", True) if l2_normalized is None else l2_normalized
        self.trained: dict[str, Any] = dict(settings.get("trained", {}))
        is_as_saved = self.l2_normalized == settings.get("l2_normalized", True)  # λ fits vectors of one kind
        self.lexical_model = read_lexical_model(self.name, settings) if is_as_saved else None
        self._licences = read_licences(Path(self.name))
        self._additions = {part: part in settings for part in ("adapter", "projection")}
        self._device = device
        for what, given, choices in (
            ("pooling", self.pooling, ("cls", "mean")),
            ("text_normalizer", self.text_normalizer, TEXT_NORMALIZERS),
        ):
            if given not in choices:
                raise ChoiceError(given=given, what=what, choices=choices)

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.settings.items())
        return f"{type(self).__name__}({self.name!r}, {settings})"

    @property
    def settings(self) -> dict[str, Any]:
        """Pooling, length, normal form and normalization of the vectors."""
        return {
            "pooling": self.pooling,
            "max_length": self.max_length,
            "text_normalizer": self.text_normalizer,
            "l2_normalized": self.l2_normalized,
        }

    @property
    def dim(self) -> int:
        """The length of a vector."""
        projection = get_projection(self.model)
        return int(self.model.config.hidden_size if projection is None else projection.linear.out_features)

    @property
    def positions(self) -> int | None:
        """The most wordpieces that the encoder can read. None if its config does not limit them."""
        return getattr(self.model.config, "max_position_embeddings", None)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of weights, vocabulary and settings. Equal hashes give equal vectors, except for rounding.

        It is computed from the weights in use, since a stored hash could belong to other weights.
        """
        # left out for unit vectors, so that cached vectors from before this setting stay valid
        settings = {name: value for name, value in self.settings.items() if (name, value) != ("l2_normalized", True)}
        if (projection := get_projection(self.model)) is not None:
            settings["projection"] = activation_of(projection)
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
        for name, tensor in sorted(self.model.state_dict().items()):
            # the pooler does not affect the vectors, and is random if the folder has no weights for it
            if not name.startswith(POOLER):
                digest.update(name.encode())
                digest.update(tensor.detach().cpu().float().contiguous().numpy())
        digest.update(json.dumps(sorted(self.tokenizer.get_vocab().items())).encode())
        return digest.hexdigest()

    @cached_property
    def device(self) -> str:
        """The device, with "auto" resolved.

        Raises:
            SapbertError: E406 there is no such device.
        """
        import torch

        if self._device == "auto":
            return "cuda" if torch.cuda.is_available() else "cpu"
        try:
            torch.empty(0, device=self._device)
        except Exception as error:  # torch raises many kinds of errors, some with long messages
            reason = str(error).partition("\n")[0]
            allowed = f"auto, cpu, or a device that torch has here ({reason})"
            raise SettingError(setting="device", component="the encoder", value=self._device, wanted=allowed) from error
        return self._device

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer of transformers."""
        return load_tokenizer(self.name)

    @cached_property
    def model(self) -> Any:
        """The model of transformers."""
        use_one_thread_after_fork()
        model = load_model(self.name, **self._additions)
        _ = self.dtype  # read now, since the model may outlive the folder
        return model.to(self.device).eval()

    @cached_property
    def dtype(self) -> str:
        """The type of the weights on disk, now and when saved: "float32", "float16" or "bfloat16"."""
        return stored_dtype(self.name)

    def encode(self, texts: Sequence[str], *, fast: bool = False) -> np.ndarray:
        """Encode names, sorted by length and padded to the longest name of each batch.

        Args:
            fast: Whether to use bfloat16 if the hardware supports it. Cosines then differ in the third decimal.

        Returns:
            float32, shape (len(texts), dim): Vectors, of unit length if `l2_normalized`.

        Raises:
            SapbertError: E121 a vector has values that are not numbers.
        """
        normalize = TEXT_NORMALIZERS[self.text_normalizer]
        forms = [normalize(text) for text in texts]
        unique = {form: row for row, form in enumerate(dict.fromkeys(forms))}
        vectors = np.zeros((len(unique), self.dim), dtype=np.float32)
        if not unique:
            return vectors
        pieces = self.tokenize(list(unique))
        for rows in batches_by_length([len(ids) for ids in pieces], self._tokens_per_batch):
            vectors[rows] = self._forward([pieces[row] for row in rows], fast)
        if not np.isfinite(vectors).all():
            remedy = "Get the encoder again, or train it again with a lower learning rate."
            raise DamagedError(remedy, path=self.name, reason="it gives vectors that are not numbers")
        return vectors[[unique[form] for form in forms]]

    def tokenize(self, forms: Sequence[str]) -> list[list[int]]:
        """Return the wordpieces of each name, special tokens included, cut to `max_length`."""
        pieces: list[list[int]] = self.tokenizer(list(forms), truncation=True, max_length=self.max_length)["input_ids"]
        return pieces

    def tokenize_parts(self, forms: Sequence[str]) -> list[list[int]]:
        """Return the wordpieces of each part of a text, without special tokens, however many they are."""
        if not forms:
            return []
        pieces: list[list[int]] = self.tokenizer(list(forms), add_special_tokens=False, verbose=False)["input_ids"]
        return pieces

    def add_special_pieces(self, pieces: list[int]) -> list[int]:
        """Add the special tokens of a text to its wordpieces."""
        # transformers 5 has no method for it
        framed, bare = (self.tokenizer("a", add_special_tokens=special)["input_ids"] for special in (True, False))
        start = next(i for i in range(len(framed)) if framed[i : i + len(bare)] == bare)
        return [*framed[:start], *pieces, *framed[start + len(bare) :]]

    def embed(self, batch: Sequence[Sequence[int]]) -> "torch.Tensor":
        """Encode tokenized names, padded to the longest of them. The caller decides whether gradients are computed.

        Returns:
            float32, shape (len(batch), dim): Vectors on the encoder's device, of unit length if `l2_normalized`.
        """
        import torch

        rows, lengths = list(map(torch.tensor, batch)), torch.tensor(list(map(len, batch)), device=self.device)
        ids = torch.nn.utils.rnn.pad_sequence(rows, True, self.tokenizer.pad_token_id).to(self.device)
        mask = (torch.arange(ids.shape[1], device=self.device) < lengths[:, None]).long()
        hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        vectors = hidden[:, 0].float()
        if self.pooling == "mean":
            weights = mask.unsqueeze(-1).float()
            vectors = (hidden.float() * weights).sum(1) / weights.sum(1)
        projection = get_projection(self.model)
        if projection is not None:
            vectors = projection(vectors).float()
        return torch.nn.functional.normalize(vectors, dim=-1) if self.l2_normalized else vectors

    def embed_by_length(self, pieces: Sequence[Sequence[int]]) -> "torch.Tensor":
        """Encode tokenized names as `embed` does, in batches of similar length.

        Returns:
            float32, shape (len(pieces), dim): Vectors in the order of the names. There may be none.
        """
        import torch

        parts = batches_by_length([len(ids) for ids in pieces], self._tokens_per_batch)
        if not parts:
            return torch.zeros((0, self.dim), device=self.device)
        vectors = torch.cat([self.embed([pieces[row] for row in part]) for part in parts])
        return vectors[torch.from_numpy(np.concatenate(parts).argsort()).to(vectors.device)]

    def copy(self) -> "TransformerEncoder":
        """Return a copy with its own weights in single precision, which can be trained."""
        other = copy.copy(self)  # without reading the folder, which may be gone
        other.replace(copy.deepcopy(self.model), self.tokenizer)
        other.trained = copy.deepcopy(self.trained)
        other.dtype = "float32"
        return other

    def replace(self, model: Any, tokenizer: Any = None) -> None:
        """Replace the model, and optionally the tokenizer."""
        self.model = model.to(self.device).eval()
        self.tokenizer = tokenizer or self.tokenizer
        self.__dict__.pop("fingerprint", None)

    def record(self, step: str, **details: Any) -> None:
        """Add a step to the history in `trained`."""
        self.trained.setdefault("base", Path(self.name).name if Path(self.name).is_dir() else self.name)
        self.trained.setdefault("history", []).append({"step": step, **details})

    def save(self, folder: Path) -> None:
        """Write weights, tokenizer and settings. The folder can then be used as `name`.

        The weights are stored in `dtype`. An existing folder is replaced when the new one is complete.

        Raises:
            SapbertError: E507 it cannot be written, or holds files that are not part of an encoder.
        """
        self.tokenize([""])  # a tokenizer saves the settings of its last call
        settings = {**self.settings, "trained": self.trained}
        write_folder(folder, self.model, self.tokenizer, self.dtype, settings, self._licences, self.lexical_model)

    def artifact(self) -> Artifact:
        """Return the folder of the encoder as an artifact of a component."""
        model = self.lexical_model
        lexical = (model.ngrams.fingerprint, model.sparse_weight, model.threshold) if model else None
        # equal vectors are not enough: the folder also records the training, and holds the lexical model
        fingerprint = fingerprint_of(self.fingerprint, self.dtype, self.trained, lexical)
        return Artifact(ENCODER_FOLDER, fingerprint, self.save)

    @property
    def _tokens_per_batch(self) -> int:
        return _CPU_TOKENS if self.device == "cpu" else _GPU_TOKENS

    def _forward(self, batch: list[list[int]], fast: bool) -> np.ndarray:
        import torch

        # on a CPU in full batches only: torch casts the weights each time, and keeps compiled products for each shape
        is_full = (len(batch) + 1) * max(map(len, batch)) > self._tokens_per_batch
        use_half = fast and has_bfloat16(self.device) and (is_full or self.device != "cpu")
        with torch.inference_mode(), torch.autocast(self.device.split(":")[0], torch.bfloat16, use_half):
            vectors: np.ndarray = self.embed(batch).float().cpu().numpy()
        return vectors


def batches_by_length(lengths: list[int], tokens: int) -> list[np.ndarray]:
    """Return batches of rows, sorted by length. With padding, a batch has at most `tokens` wordpieces."""
    order = np.argsort(np.asarray(lengths), kind="stable")[::-1]
    batches, start = [], 0
    while start < len(order):
        size = max(1, tokens // lengths[order[start]])
        batches.append(order[start : start + size])
        start += size
    return batches


def has_bfloat16(device: str) -> bool:
    """Return whether a device supports bfloat16 in hardware. Emulation is slower than float32."""
    import torch

    if device.startswith("cuda"):
        return torch.cuda.is_bf16_supported()
    return torch.backends.mkldnn.is_available() and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
