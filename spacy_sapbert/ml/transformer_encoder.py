"""Names to vectors by a BERT-like encoder from a folder or a model hub."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Errors, SapbertError
from ..text.normalise import NORMALISERS
from .forking import compute_alone_after_fork

if TYPE_CHECKING:
    import torch

SETTINGS_FILE = "spacy_sapbert.json"
POOLING_FILE = "1_Pooling/config.json"  # where sentence-transformers keeps its pooling
WEIGHT_FILES = ("model.safetensors", "pytorch_model.bin", "model.safetensors.index.json")
TOKENS_PER_BATCH = 4096

_POOLER = "pooler."
_POOLING_MODES = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}


class TransformerEncoder:
    """A Hugging Face encoder whose pooled, normalised output stands for a name.

    name (str): a folder, or a hub name such as `cambridgeltl/SapBERT-from-PubMedBERT-fulltext`.
    pooling (str | None): "cls" or "mean"; None takes what the folder says, else "cls", as SapBERT's models want.
    max_length (int | None): wordpieces a name is cut to; None takes what the folder says, else 25.
    normaliser (str | None): normal form in which names are read; None takes what the folder says, else "lower".
    device (str): "cpu", "cuda", "cuda:1", …; "auto" takes a GPU where there is one.
    Weights and tokenizer are read at the first use.
    """

    def __init__(
        self,
        name: str,
        *,
        pooling: str | None = None,
        max_length: int | None = None,
        normaliser: str | None = None,
        device: str = "auto",
    ) -> None:
        self.name = name
        settings = _folder_settings(Path(name))
        self.pooling = pooling or settings.get("pooling", "cls")
        self.max_length = max_length or int(settings.get("max_length", 25))
        self.normaliser = normaliser or settings.get("normaliser", "lower")
        self._device = device
        if self.pooling not in ("cls", "mean") or self.normaliser not in NORMALISERS:
            raise SapbertError(Errors.E303.format(pooling=self.pooling, normaliser=self.normaliser))

    @property
    def settings(self) -> dict[str, Any]:
        return {"pooling": self.pooling, "max_length": self.max_length, "normaliser": self.normaliser}

    @property
    def dim(self) -> int:
        """RETURNS (int): the length of a vector."""
        return int(self.model.config.hidden_size)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of weights, vocabulary and settings: equal ones give equal vectors."""
        digest = hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode())
        for name, tensor in sorted(self.model.state_dict().items()):
            # the pooler does not enter the vectors, and gets random weights where the folder has none for it
            if not name.startswith(_POOLER):
                digest.update(name.encode())
                digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        digest.update(json.dumps(sorted(self.tokenizer.get_vocab().items())).encode())
        return digest.hexdigest()

    @cached_property
    def device(self) -> str:
        import torch

        if self._device == "auto":
            return "cuda" if torch.cuda.is_available() else "cpu"
        return self._device

    @cached_property
    def tokenizer(self) -> Any:
        return _load(self.name, "tokenizer")

    @cached_property
    def model(self) -> Any:
        compute_alone_after_fork()
        return _load(self.name, "model").to(self.device).eval()

    def encode(self, texts: Sequence[str], *, fast: bool = False) -> np.ndarray:
        """Encode names, sorted by length and padded only to the longest of their batch.

        fast (bool): use bfloat16 where the hardware has it; cosines then differ in the third decimal.
        RETURNS (float32, shape (len(texts), dim)): vectors of unit length.
        """
        normalise = NORMALISERS[self.normaliser]
        forms = [normalise(text) for text in texts]
        unique = {form: row for row, form in enumerate(dict.fromkeys(forms))}
        vectors = np.zeros((len(unique), self.dim), dtype=np.float32)
        if not unique:
            return vectors
        pieces = self.tokenize(list(unique))
        for rows in batches_by_length([len(ids) for ids in pieces]):
            vectors[rows] = self._forward([pieces[row] for row in rows], fast)
        return vectors[[unique[form] for form in forms]]

    def tokenize(self, forms: Sequence[str]) -> list[list[int]]:
        """RETURNS (list[list[int]]): the wordpieces of each name, special ones included, cut to `max_length`."""
        pieces: list[list[int]] = self.tokenizer(list(forms), truncation=True, max_length=self.max_length)["input_ids"]
        return pieces

    def embed(self, batch: Sequence[Sequence[int]]) -> torch.Tensor:
        """Encode tokenised names, padded to the longest of them; gradients flow where the caller lets them.

        RETURNS (float32, shape (len(batch), dim)): vectors of unit length, on the encoder's device.
        """
        import torch

        longest = max(map(len, batch))
        ids = torch.full((len(batch), longest), self.tokenizer.pad_token_id)
        mask = torch.zeros((len(batch), longest), dtype=torch.long)
        for row, pieces in enumerate(batch):
            ids[row, : len(pieces)] = torch.tensor(pieces)
            mask[row, : len(pieces)] = 1
        ids, mask = ids.to(self.device), mask.to(self.device)
        hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        return torch.nn.functional.normalize(self._pool(hidden.float(), mask), dim=-1)

    def save(self, folder: Path) -> None:
        """Write weights, tokenizer and settings; the folder can be given as `name` afterwards."""
        self.model.save_pretrained(folder, safe_serialization=True)
        self.tokenize([""])  # a tokenizer saves how it was used last
        self.tokenizer.save_pretrained(folder)
        (folder / SETTINGS_FILE).write_text(json.dumps(self.settings, indent=2, sort_keys=True) + "\n")

    def _forward(self, batch: list[list[int]], fast: bool) -> np.ndarray:
        import torch

        half = torch.autocast(
            self.device.split(":")[0], dtype=torch.bfloat16, enabled=fast and has_bfloat16(self.device)
        )
        with torch.inference_mode(), half:
            vectors: np.ndarray = self.embed(batch).float().cpu().numpy()
        return vectors

    def _pool(self, hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if self.pooling == "cls":
            return hidden[:, 0]
        weights = mask.unsqueeze(-1).to(hidden.dtype)
        return (hidden * weights).sum(1) / weights.sum(1)


def batches_by_length(lengths: list[int]) -> list[np.ndarray]:
    """RETURNS: rows sorted by length, cut so that a padded batch holds at most `TOKENS_PER_BATCH` wordpieces."""
    order = np.argsort(np.asarray(lengths), kind="stable")[::-1]
    batches, start = [], 0
    while start < len(order):
        size = max(1, TOKENS_PER_BATCH // lengths[order[start]])
        batches.append(order[start : start + size])
        start += size
    return batches


def has_bfloat16(device: str) -> bool:
    """Whether a device computes in bfloat16 by instructions of its own; emulated, it is slower than float32."""
    import torch

    if device.startswith("cuda"):
        return torch.cuda.is_bf16_supported()
    return torch.backends.mkldnn.is_available() and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def _folder_settings(folder: Path) -> dict[str, Any]:
    """What a folder says of its pooling, length and normal form: our own file, or that of sentence-transformers.

    RAISES (SapbertError): E302 the file is no JSON.
    """
    ours, theirs = folder / SETTINGS_FILE, folder / POOLING_FILE
    try:
        settings: dict[str, Any] = json.loads(ours.read_text()) if ours.is_file() else {}
        modes: dict[str, Any] = json.loads(theirs.read_text()) if theirs.is_file() and not settings else {}
    except ValueError as error:
        raise SapbertError(Errors.E302.format(path=folder, reason=error)) from error
    if modes:
        chosen = [mode for mode, on in modes.items() if mode.startswith("pooling_mode_") and on]
        settings["pooling"] = ", ".join(_POOLING_MODES.get(mode, mode) for mode in chosen)
    return settings


def _load(name: str, what: str) -> Any:
    """Load the "model" or the "tokenizer" of a folder or hub name.

    RAISES (SapbertError): E301 neither a folder nor to be had from the hub, E302 a folder that cannot be loaded.
    """
    import transformers

    is_folder = Path(name).is_dir()
    if is_folder and not any((Path(name) / file).is_file() for file in WEIGHT_FILES):
        raise SapbertError(Errors.E302.format(path=name, reason=f"none of {', '.join(WEIGHT_FILES)} is in it"))
    options = {"local_files_only": is_folder, "trust_remote_code": False}
    try:
        if what == "tokenizer":
            return transformers.AutoTokenizer.from_pretrained(name, **options)
        model, info = transformers.AutoModel.from_pretrained(name, output_loading_info=True, **options)
        missing = [weights for weights in info["missing_keys"] if not weights.startswith(_POOLER)]
        if missing:  # transformers would leave them random
            raise ValueError(f"it has no weights for {missing[0]}")
        return model
    except Exception as error:  # transformers raises nearly anything for a damaged folder
        if is_folder:
            raise SapbertError(Errors.E302.format(path=name, reason=error)) from error
        raise SapbertError(Errors.E301.format(name=name, reason=error)) from error
