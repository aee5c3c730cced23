"""Make encoders smaller and faster: prune the tokenizer's vocabulary, drop layers or positions, use half precision."""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from ..errors import ChoiceError, Errors, OptionError, SapbertError
from ..files.output import ScratchFolder
from ..files.values import parse_json
from ..text.normalize import TEXT_NORMALIZERS
from .additions import PROJECTION, get_projection, has_adapter, set_projection
from .transformer import TransformerEncoder

if TYPE_CHECKING:
    import torch

# `encoder.layer.0.…` in BERT and ELECTRA, `transformer.layer.0.…` in DistilBERT
LAYER = re.compile(r"^(.*\blayer)\.(\d+)\.(.*)$")
HALF = ("float16", "bfloat16")
CONTINUED = "##"
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
    used = _used_pieces(widest, words, min_count, keep_pieces, set(new_words))
    ids = old.get_vocab()
    rows = [[ids[piece]] for piece in _by_id(old) if piece in used]
    cut = _cutter(old)
    rows += [[ids[piece] for piece in cut(word)] for word in new_words]
    pruned = with_vocabulary(widest, [piece for piece in _by_id(widest) if piece in used])
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
        layers: Numbers of the layers, from 0, in their new order.
    """
    state = encoder.model.state_dict()
    known = {int(match[2]) for match in map(LAYER.match, state) if match}
    if not layers or not known.issuperset(layers) or len(set(layers)) < len(layers):
        raise OptionError(
            "Give one or more of its layers, each once.",
            option=f"--layers {','.join(map(str, layers))}",
            reason=f"the encoder has {len(known)} layers, counted from 0",
        )
    numbers = {layer: number for number, layer in enumerate(layers)}
    weights = {}
    for key, value in state.items():
        match = LAYER.match(key)
        if match is None:
            weights[key] = value
        elif int(match[2]) in numbers:
            weights[f"{match[1]}.{numbers[int(match[2])]}.{match[3]}"] = value
    encoder.replace(_rebuilt(encoder.model, weights, num_hidden_layers=len(layers)))


def spread_layers(encoder: TransformerEncoder, n: int) -> list[int]:
    """Return n evenly spread layers of an encoder, among them the first and the last."""
    last = encoder.model.config.num_hidden_layers - 1
    return [0] if n == 1 else [round(number * last / (n - 1)) for number in range(n)]


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


def _used_pieces(tokenizer: Any, words: Words, min_count: int, keep_pieces: int | None, added: set[str]) -> set[str]:
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


# --- wordpieces


class Words:
    """The words of names, and their wordpieces.

    Args:
        tokenizer: A fast tokenizer of Hugging Face with a WordPiece model.
        names: Names in the normal form of the encoder.
    """

    def __init__(self, tokenizer: Any, names: Iterable[str]) -> None:
        check_wordpiece(tokenizer)
        backend = tokenizer.backend_tokenizer
        self.tokenizer = tokenizer
        self.counts: Counter[str] = Counter()
        self.n_names = 0
        for name in names:
            clean = backend.normalizer.normalize_str(name) if backend.normalizer else name
            self.counts.update(word for word, _ in backend.pre_tokenizer.pre_tokenize_str(clean))
            self.n_names += 1

    def pieces_per_name(self, tokenizer: Any) -> float:
        """Return the mean number of wordpieces per name, without [CLS] and [SEP]."""
        cut = _cutter(tokenizer)
        return sum(count * len(cut(word)) for word, count in self.counts.items()) / max(self.n_names, 1)

    def piece_counts(self, tokenizer: Any) -> Counter[str]:
        """Return how often each wordpiece occurs in the names."""
        cut = _cutter(tokenizer)
        counts: Counter[str] = Counter()
        for word, count in self.counts.items():
            for piece in cut(word):
                counts[piece] += count
        return counts

    def worth_adding(self, n: int) -> list[str]:
        """Return the n words that save most wordpieces if each becomes a wordpiece, best first."""
        cut = _cutter(self.tokenizer)
        saved = {word: count * (len(cut(word)) - 1) for word, count in self.counts.items()}
        worth = [word for word, pieces in saved.items() if pieces > 0]
        return sorted(worth, key=lambda word: (-saved[word], word))[:n]


def check_wordpiece(tokenizer: Any) -> None:
    """Check that a tokenizer makes wordpieces that continue with `##`."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    model = getattr(backend, "model", None)
    kind = type(tokenizer if model is None else model).__name__
    if kind != "WordPiece" or getattr(model, "continuing_subword_prefix", None) != CONTINUED:
        raise SapbertError(Errors.E310.format(kind=kind))


def indispensable(tokenizer: Any) -> set[str]:
    """Return special tokens and all single characters, so that any word can still be tokenized."""
    always = set(tokenizer.all_special_tokens) | set(tokenizer.get_added_vocab())
    return always | {piece for piece in tokenizer.get_vocab() if len(piece.removeprefix(CONTINUED)) == 1}


def with_vocabulary(tokenizer: Any, pieces: Sequence[str]) -> Any:
    """Make a similar tokenizer with other wordpieces.

    Args:
        pieces: The wordpieces, by id. All that are `indispensable` must be among them.
    """
    from transformers import AutoTokenizer

    ids = {piece: number for number, piece in enumerate(pieces)}
    with ScratchFolder() as folder:
        tokenizer.save_pretrained(folder)
        for file, renumber in (("tokenizer.json", _renumber_tokenizer), ("tokenizer_config.json", _renumber_config)):
            content = parse_json((folder / file).read_text(encoding="utf-8"))
            renumber(content, ids)
            (folder / file).write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
        (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
        return AutoTokenizer.from_pretrained(folder, local_files_only=True)


def _cutter(tokenizer: Any) -> Any:
    model = tokenizer.backend_tokenizer.model

    @cache
    def cut(word: str) -> list[str]:
        return [token.value for token in model.tokenize(word)]

    return cut


def _renumber_tokenizer(saved: dict[str, Any], ids: Mapping[str, int]) -> None:
    """Write new ids into the content of `tokenizer.json`, without padding and truncation, which each call sets."""
    # includes added tokens: loading would give an id to any that are missing here
    saved["model"]["vocab"] = dict(ids)
    saved["truncation"] = saved["padding"] = None
    for token in saved["added_tokens"]:
        token["id"] = ids[token["content"]]
    frame = saved["post_processor"] or {}
    for token in frame.get("special_tokens", {}).values():  # TemplateProcessing
        token["ids"] = [ids[piece] for piece in token["tokens"]]
    for token in ("sep", "cls"):  # BertProcessing
        if token in frame:
            frame[token][1] = ids[frame[token][0]]


def _renumber_config(saved: dict[str, Any], ids: Mapping[str, int]) -> None:
    tokens = saved.get("added_tokens_decoder", {}).values()
    if tokens:
        saved["added_tokens_decoder"] = {str(ids[token["content"]]): token for token in tokens}
