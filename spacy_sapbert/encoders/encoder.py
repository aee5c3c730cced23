"""The interface of encoders of names, and how the encoder of a setting is opened."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..errors import MismatchError, SettingError
from ..store.artifact import Artifact
from ..store.cache import file_states, shared
from .folder import STATIC, TRANSFORMER, read_settings, resolve

if TYPE_CHECKING:
    from .ngrams import LexicalModel
    from .transformer import TransformerEncoder


class Encoder(Protocol):
    """Turns names into vectors: a `TransformerEncoder` or a `StaticEncoder`.

    Attributes:
        name: Where it is.
        device: The device of its computation.
        text_normalizer: The normal form in which names are read.
        l2_normalized: Whether vectors have unit length, so that inner products are cosines.
        lexical_model: The n-grams and λ that belong to the encoder, as in a published BioSyn model.
        trained: The training data, the settings, and a `history` of the steps. It is saved with the encoder.
    """

    name: str
    text_normalizer: str
    l2_normalized: bool
    lexical_model: LexicalModel | None
    trained: dict[str, Any]

    @property
    def device(self) -> str:
        """The device, with "auto" resolved."""

    @property
    def dim(self) -> int:
        """The length of a vector."""

    @property
    def settings(self) -> dict[str, Any]:
        """What the vectors depend on, besides the weights."""

    @property
    def fingerprint(self) -> str:
        """A hash of weights and settings. Equal hashes give equal vectors, except for rounding."""

    def encode(self, texts: Sequence[str], *, fast: bool = False) -> np.ndarray:
        """Encode names.

        Args:
            fast: Whether half precision is enough.

        Returns:
            float32, shape (len(texts), dim).
        """

    def save(self, folder: Path) -> None:
        """Write the encoder. The folder can then be opened."""

    def artifact(self) -> Artifact:
        """Return the folder of the encoder as an artifact of a component."""


def open_encoder(
    encoder: str, *, pooling: str | None = None, l2_normalized: bool | None = None, device: str = "auto"
) -> Encoder | None:
    """Open the encoder of a setting. Weights are read at the first use.

    All users of one folder in a process share one encoder with the same settings. Train a `copy` of it.

    Args:
        encoder: "starter", a folder or a hub name; "none" for no encoder.
        pooling: See `TransformerEncoder`, as for the following settings. A `StaticEncoder` has none.
        l2_normalized: Whether vectors are scaled to unit length.
        device: Where the encoder runs.

    Raises:
        SapbertError: See `TransformerEncoder` and `StaticEncoder`. E406 a table was given a pooling.
    """
    if encoder == "none":
        return None
    folder = Path(resolve(encoder))
    opened: Encoder
    if folder.is_dir() and STATIC in read_settings(str(folder)):
        from .static import StaticEncoder

        if pooling is not None:
            wanted = "null, since a table of sub-word vectors has no pooling"
            raise SettingError(setting="pooling", component="the encoder", value=pooling, wanted=wanted)
        opened = StaticEncoder(str(folder))
    else:
        from .transformer import TransformerEncoder

        opened = TransformerEncoder(encoder, pooling=pooling, l2_normalized=l2_normalized, device=device)
    source: Hashable = (str(folder.resolve()), *file_states(folder)) if folder.is_dir() else opened.name
    return shared((type(opened).__name__, source, *opened.settings.items(), device), lambda: opened)


@contextmanager
def history_kept(encoder: Encoder) -> Iterator[None]:
    """Record steps of a training inside for what is saved there. Afterwards, `encoder.trained` is as it was."""
    before = copy.deepcopy(encoder.trained)
    try:
        yield
    finally:
        encoder.trained = before


def as_transformer(encoder: Encoder, purpose: str) -> TransformerEncoder:
    """Return an encoder that is a transformer.

    Args:
        purpose: What needs a transformer, as the start of a sentence.

    Raises:
        SapbertError: E305 it is a table.
    """
    from .transformer import TransformerEncoder

    if not isinstance(encoder, TransformerEncoder):
        reason = f"{purpose} needs a transformer, and this encoder is a table of sub-word vectors"
        raise MismatchError(f"Choose another encoder, such as {TRANSFORMER!r}.", path=encoder.name, reason=reason)
    return encoder


# --- forked processes, such as those of `nlp.pipe(n_process=2)`


PARALLELISM = "TOKENIZERS_PARALLELISM"
"""The environment variable of tokenizers. What the user sets is kept."""


@cache
def use_one_thread_after_fork() -> None:
    """Let each process that is forked from now on compute with one thread. Call it before torch or faiss is used.

    OpenMP keeps its threads after their first start. A forked child does not have them, but would wait for them
    forever. Tokenizers warns of its own threads at each fork, unless the environment says that they are not used.
    """
    if hasattr(os, "register_at_fork"):  # Windows never forks
        os.register_at_fork(before=_set_parallelism, after_in_parent=_unset_parallelism, after_in_child=_use_one_thread)


# whether the variable was set for a fork, and not by the user
_for_fork = False


def _set_parallelism() -> None:
    global _for_fork
    _for_fork = PARALLELISM not in os.environ
    if _for_fork:
        os.environ[PARALLELISM] = "false"


def _unset_parallelism() -> None:
    if _for_fork:
        os.environ.pop(PARALLELISM, None)


def _use_one_thread() -> None:
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    if "faiss" in sys.modules:
        sys.modules["faiss"].omp_set_num_threads(1)
