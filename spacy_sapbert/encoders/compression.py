"""Make encoders smaller and faster: prune the tokenizer's vocabulary, drop layers or positions, use half precision."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ChoiceError, Errors, OptionError, SapbertError
from ..text.normalize import TEXT_NORMALIZERS
from .adapter import has_adapter
from .projection import PROJECTION, get_projection, set_projection
from .transformer import TransformerEncoder
from .wordpieces import Words, cut_words, indispensable, with_vocabulary

if TYPE_CHECKING:
    import torch

# `encoder.layer.0.…` in BERT and ELECTRA, `transformer.layer.0.…` in DistilBERT
LAYER = re.compile(r"^(.*\blayer)\.(\d+)\.(.*)$")
HALF = ("float16", "bfloat16")
_POSITIONS = "embeddings.position_embeddings.weight"


def prune_vocabulary(
    encoder: TransformerEncoder,
    names: Iterable[str],
    *,
    min_count: int = 1,
    keep_pieces: int | None = None,
    add_pieces: int = 0,
) -> dict[str, float]:
    """Fit the vocabulary of an encoder to names: drop unused wordpieces and add frequent words.

    A name keeps its vector if all its wordpieces stay and no word of it is added. Special tokens and single characters
    always stay, so that any text can still be tokenized.

    Args:
        encoder: The encoder, changed in place.
        names: The names, read in the encoder's normal form. A name that occurs twice counts twice.
        min_count: How often a wordpiece must occur in the names to stay, after the new words are added.
        keep_pieces: The most wordpieces in total. The rarest are dropped.
        add_pieces: The number of words that become wordpieces: those that save most wordpieces. Each starts as the mean
            of the embeddings of the wordpieces that it replaces, and needs training.

    Returns:
        Numbers of names and wordpieces, and mean wordpieces per name without special tokens, before and after.
    """
    normalize = TEXT_NORMALIZERS[encoder.text_normalizer]
    old = encoder.tokenizer
    words = Words(old, map(normalize, names))
    new_words = words.worth_adding(add_pieces)
    widest = with_vocabulary(old, [*_by_id(old), *new_words])
    kept = _kept(widest, words, min_count, keep_pieces, set(new_words))
    ids = old.get_vocab()
    rows = [[ids[piece]] for piece in _by_id(old) if piece in kept]
    rows += cut_words(old, new_words).values()
    pruned = with_vocabulary(widest, [piece for piece in _by_id(widest) if piece in kept])
    encoder.replace(_with_embeddings(encoder.model, rows, pruned.pad_token_id), pruned)
    return {
        "names": words.n_names,
        "pieces_before": len(ids),
        "pieces": len(rows),
        "added": len(new_words),
        "pieces_per_name_before": round(words.pieces_per_name(old), 3),
        "pieces_per_name": round(words.pieces_per_name(pruned), 3),
    }


def keep_layers(encoder: TransformerEncoder, layers: Sequence[int]) -> None:
    """Keep only some layers of an encoder.

    Args:
        encoder: The encoder, changed in place.
        layers: Numbers of the layers, from 0, in their new order.
    """
    state = encoder.model.state_dict()
    known = {int(found[2]) for found in map(LAYER.match, state) if found}
    if not layers or not known.issuperset(layers) or len(set(layers)) < len(layers):
        raise OptionError(
            "Give one or more of its layers, each once.",
            option=f"--layers {','.join(map(str, layers))}",
            reason=f"the encoder has {len(known)} layers, counted from 0",
        )
    kept = {key: value for key, value in state.items() if not LAYER.match(key)}
    for place, layer in enumerate(layers):
        for key, value in state.items():
            found = LAYER.match(key)
            if found and int(found[2]) == layer:
                kept[f"{found[1]}.{place}.{found[3]}"] = value
    encoder.replace(_rebuilt(encoder.model, kept, num_hidden_layers=len(layers)))


def spread_layers(encoder: TransformerEncoder, n: int) -> list[int]:
    """Return n evenly spread layers of an encoder, among them the first and the last."""
    last = encoder.model.config.num_hidden_layers - 1
    return [0] if n == 1 else [round(place * last / (n - 1)) for place in range(n)]


def cut_positions(encoder: TransformerEncoder, n: int) -> None:
    """Keep the position embeddings for texts of n wordpieces."""
    state = encoder.model.state_dict()
    keys = [key for key in state if key.endswith(_POSITIONS)]
    module = encoder.model.get_submodule(keys[0].removesuffix(".weight")) if keys else None
    # RoBERTa and MPNet start counting positions after the id of the padding
    rows = n if module is None or module.padding_idx is None else n + module.padding_idx + 1
    if not keys or not encoder.max_length <= n or rows > len(state[keys[0]]):
        known = len(state[keys[0]]) if keys else 0
        raise OptionError(
            "Give a number between these two.",
            option=f"--positions {n}",
            reason=f"the encoder has {known}, and it reads names of up to {encoder.max_length} wordpieces",
        )
    cut = {**state, keys[0]: state[keys[0]][:rows]}
    encoder.replace(_rebuilt(encoder.model, cut, max_position_embeddings=rows))
    encoder.tokenizer.model_max_length = n


def quantize(encoder: TransformerEncoder, dtype: str) -> None:
    """Round the weights of an encoder to half precision and store them in it from then on.

    Args:
        encoder: The encoder, changed in place.
        dtype: "float16", which is more exact, or "bfloat16", which has the range of float32.
    """
    import torch

    if dtype not in HALF:
        raise ChoiceError(given=dtype, what="type of weights", choices=HALF)
    largest = max(float(weights.detach().abs().max()) for weights in encoder.model.parameters())
    if largest > torch.finfo(getattr(torch, dtype)).max:
        reason = f"a weight of the encoder is {largest}, which is out of range"
        raise OptionError("Store the weights as bfloat16.", option=dtype, reason=reason)
    encoder.replace(encoder.model.to(getattr(torch, dtype)).float())
    encoder.dtype = dtype


def _kept(tokenizer: Any, words: Words, min_count: int, keep_pieces: int | None, added: set[str]) -> set[str]:
    """Return the wordpieces that must stay, and those that the names use often enough."""
    always = indispensable(tokenizer) | added
    counts = words.piece_counts(tokenizer)
    others = sorted(
        (piece for piece, count in counts.items() if count >= min_count and piece not in always),
        key=lambda piece: (-counts[piece], piece),
    )
    if keep_pieces is not None:
        if keep_pieces < len(always):
            reason = f"{len(always)} must stay: the special tokens, all single characters and the added words"
            remedy = "Raise --keep-pieces, or lower --add-pieces."
            raise OptionError(remedy, option=f"--keep-pieces {keep_pieces}", reason=reason)
        others = others[: keep_pieces - len(always)]
    return always.union(others)


def _by_id(tokenizer: Any) -> list[str]:
    vocabulary: dict[str, int] = tokenizer.get_vocab()
    return sorted(vocabulary, key=vocabulary.__getitem__)


def _with_embeddings(model: Any, rows: Sequence[Sequence[int]], pad: int) -> Any:
    """Make a model with other wordpieces: each embedding is the mean of the given rows of the old embeddings."""
    import torch

    old = model.get_input_embeddings().weight
    key = next(name for name, weights in model.named_parameters() if weights is old)
    new = torch.stack([old.detach()[list(ids)].mean(0) for ids in rows])
    return _rebuilt(model, {**model.state_dict(), key: new}, vocab_size=len(rows), pad_token_id=pad)


def _rebuilt(model: Any, state: Mapping[str, torch.Tensor], **changes: int) -> Any:
    """Make a model of the same class with other weights and a config that fits them."""
    if has_adapter(model):
        raise SapbertError(Errors.E316.format(part="an adapter", wanted="another vocabulary, layers or positions"))
    config = copy.deepcopy(model.config)
    for name, value in changes.items():
        setattr(config, name, value)
    rebuilt = type(model)(config)
    if getattr(model, "pooler", None) is None and hasattr(rebuilt, "pooler"):
        rebuilt.pooler = None
    rebuilt.load_state_dict({key: weights for key, weights in state.items() if not key.startswith(PROJECTION)})
    set_projection(rebuilt, get_projection(model))
    return rebuilt.to(model.device, model.dtype).eval()
