"""What the commands of an encoder do: make it smaller and faster, describe it, and write the vectors of texts."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ChoiceError, Errors, OptionError, SapbertError
from ..files.output import ScratchFolder, replacing
from ..files.values import array_header, parse_json
from ..text.normalize import TEXT_NORMALIZERS
from .additions import PROJECTION, activation_of, get_projection, has_adapter
from .encoder import Encoder
from .folder import local_folder
from .transformer import TransformerEncoder

# `encoder.layer.0.…` in BERT and ELECTRA, `transformer.layer.0.…` in DistilBERT
LAYER = re.compile(r"^(.*\blayer)\.(\d+)\.(.*)$")
HALF = ("float16", "bfloat16")
CONTINUED = "##"
_NAMES_AT_ONCE = 10_000


def prune_vocabulary(
    encoder: TransformerEncoder,
    names: Iterable[str],
    *,
    keep_pieces: int | None = None,
    always: Collection[str] = (),
) -> dict[str, int]:
    """Drop the wordpieces that names do not use. A name keeps its vector if all its wordpieces stay.

    Special tokens and single characters always stay, so that any text can still be tokenized.

    Args:
        names: The names, read in the encoder's normal form. A name that occurs twice counts twice.
        keep_pieces: The most wordpieces in total. The rarest are dropped.
        always: Other wordpieces that stay.

    Returns:
        Numbers of names, and of wordpieces before and after.
    """
    check_wordpiece(encoder.tokenizer)
    normalize = TEXT_NORMALIZERS[encoder.text_normalizer]
    pieces = pieces_of(encoder.tokenizer)
    counts: Counter[int] = Counter()
    n_names, forms = 0, map(normalize, names)
    while batch := list(islice(forms, _NAMES_AT_ONCE)):
        counts.update(chain.from_iterable(encoder.tokenize_parts(batch)))
        n_names += len(batch)
    used = _used_pieces(
        {pieces[number]: n for number, n in counts.items()}, {*indispensable(encoder.tokenizer), *always}, keep_pieces
    )
    rows = [number for number, piece in enumerate(pieces) if piece in used]
    replace_vocabulary(encoder, [pieces[row] for row in rows], [[row] for row in rows])
    return {"names": n_names, "pieces_before": len(pieces), "pieces": len(rows)}


def _used_pieces(counts: Mapping[str, int], always: Collection[str], keep_pieces: int | None) -> set[str]:
    others = sorted(counts.keys() - always, key=lambda piece: (-counts[piece], piece))
    if keep_pieces is not None:
        if keep_pieces < len(always):
            reason = f"{len(always)} must stay: the special tokens and all single characters"
            raise OptionError("Raise --keep-pieces.", option=f"--keep-pieces {keep_pieces}", reason=reason)
        others = others[: keep_pieces - len(always)]
    return {*always, *others}


def replace_vocabulary(encoder: TransformerEncoder, pieces: Sequence[str], rows: Sequence[Sequence[int]]) -> None:
    """Give an encoder other wordpieces, by id. The embedding of each is the mean of some rows of the old ones."""
    import torch

    _refuse_adapter(encoder.model)
    tokenizer = with_vocabulary(encoder.tokenizer, pieces)
    old = encoder.model.get_input_embeddings().weight.detach()
    new = torch.stack([old[list(ids)].mean(0) for ids in rows])
    pad = tokenizer.pad_token_id
    encoder.model.set_input_embeddings(torch.nn.Embedding.from_pretrained(new, freeze=False, padding_idx=pad))
    encoder.model.config.vocab_size, encoder.model.config.pad_token_id = len(rows), pad
    encoder.replace(encoder.model, tokenizer)


def keep_layers(encoder: TransformerEncoder, layers: Sequence[int]) -> None:
    """Keep only some layers of an encoder.

    Args:
        layers: Numbers of the layers, from 0, in their new order.
    """
    import torch

    model, n = encoder.model, encoder.model.config.num_hidden_layers
    stacks = (part for name, part in model.named_modules() if isinstance(part, torch.nn.ModuleList) and len(part) == n)
    stack: Any = next(stacks, [])
    if not layers or not set(range(len(stack))).issuperset(layers) or len(set(layers)) < len(layers):
        option, reason = (
            f"--layers {','.join(map(str, layers))}",
            f"the encoder has {len(stack)} layers, counted from 0",
        )
        raise OptionError("Give one or more of its layers, each once.", option=option, reason=reason)
    _refuse_adapter(model)
    remaining = [stack[number] for number in layers]
    del stack[:]
    stack.extend(remaining)
    model.config.num_hidden_layers = len(layers)
    encoder.replace(model)


def spread_layers(encoder: TransformerEncoder, n: int) -> list[int]:
    """Return n evenly spread layers of an encoder, among them the first and the last."""
    last = encoder.model.config.num_hidden_layers - 1
    return [0] if n == 1 else [round(number * last / (n - 1)) for number in range(n)]


def _refuse_adapter(model: Any) -> None:
    if has_adapter(model):
        raise SapbertError(Errors.E316.format(part="an adapter", wanted="another vocabulary or other layers"))


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


# --- wordpieces


def pieces_of(tokenizer: Any) -> list[str]:
    """Return the wordpieces of a tokenizer, by id."""
    vocabulary: dict[str, int] = tokenizer.get_vocab()
    return sorted(vocabulary, key=vocabulary.__getitem__)


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


# --- what an encoder is, and the vectors of texts in a file


def describe(encoder: Encoder) -> dict[str, Any]:
    """Return the architecture, sizes, settings and history of an encoder.

    Returns:
        A dictionary. "parameters" has the number of weights of "embeddings", "layers", "adapter", "projection", "other"
        (the pooler) and "all". "bytes" is the size of all files, "weight_bytes" that of the weight files. "projection"
        is the activation of the projection, or None. "lexical_model" has the number of n-grams and the fitted values,
        or is None.
    """
    form = _transformer(encoder) if isinstance(encoder, TransformerEncoder) else _sizes(encoder)
    return {
        "encoder": encoder.name,
        "architecture": type(encoder).__name__,
        "dim": encoder.dim,
        **form,
        **encoder.settings,
        "lexical_model": _lexical_model(encoder),
        "trained": encoder.trained,
        "fingerprint": encoder.fingerprint,
    }


def _sizes(encoder: Encoder) -> dict[str, int]:
    files = [path for path in local_folder(encoder.name).rglob("*") if path.is_file()]
    return {
        "bytes": sum(path.stat().st_size for path in files),
        "weight_bytes": sum(path.stat().st_size for path in files if path.suffix in (".safetensors", ".bin")),
    }


def _transformer(encoder: TransformerEncoder) -> dict[str, Any]:
    config, projection = encoder.model.config, get_projection(encoder.model)
    return {
        "architecture": type(encoder.model).__name__,
        "layers": config.num_hidden_layers,
        "vocabulary": len(encoder.tokenizer.get_vocab()),
        "positions": getattr(config, "max_position_embeddings", None),
        "parameters": _parameters(encoder.model),
        **_sizes(encoder),
        "dtype": encoder.dtype,
        "adapter": has_adapter(encoder.model),
        "projection": None if projection is None else activation_of(projection),
    }


def _lexical_model(encoder: Encoder) -> dict[str, float] | None:
    model = encoder.lexical_model
    if model is None:
        return None
    return {"ngrams": len(model.ngrams.ngrams), "sparse_weight": model.sparse_weight, "threshold": model.threshold}


def _parameters(model: Any) -> dict[str, int]:
    counts = Counter(dict.fromkeys(("embeddings", "layers", "adapter", "projection", "other"), 0))
    for name, weights in model.named_parameters():
        if "adapters." in name:
            part = "adapter"
        elif name.startswith(PROJECTION):
            part = "projection"
        elif LAYER.match(name):
            part = "layers"
        else:
            part = "embeddings" if "embeddings" in name else "other"
        counts[part] += weights.numel()
    return {**counts, "all": counts.total()}


def write_vectors(
    encoder: Encoder, texts: Iterable[str], path: Path, *, batch: int = 8192, fast: bool = False
) -> dict[str, int]:
    """Encode a stream of texts and write a float32 matrix with one row per text.

    The file appears when it is complete.

    Args:
        texts: The texts. A blank text gets a row of zeros.
        batch: Number of texts encoded together. A text that occurs twice among them is encoded once.
        fast: Whether to use bfloat16 if the hardware supports it.

    Returns:
        The counts "texts" and "without_vector", and the dimension "dim".
    """
    source = iter(texts)
    written = without = 0
    with replacing(path) as temporary, temporary.open("wb") as file:
        file.write(array_header("<f4", (0, encoder.dim)))
        while chunk := list(islice(source, batch)):
            filled = {row: text for row, text in enumerate(chunk) if text.strip()}
            vectors = np.zeros((len(chunk), encoder.dim), dtype="<f4")
            vectors[list(filled)] = encoder.encode(list(filled.values()), fast=fast)
            file.write(vectors.tobytes())
            written += len(chunk)
            without += len(chunk) - len(filled)
        file.seek(0)
        file.write(array_header("<f4", (written, encoder.dim)))
    return {"texts": written, "without_vector": without, "dim": encoder.dim}
