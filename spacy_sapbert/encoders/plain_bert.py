"""Tokenize names and compute the vectors of a BERT without transformers, whose import and layers take most of the time.

It reads the tokenizer and the weights of a folder, or the weights of a model in memory. Anything that is not exactly a
BERT as published is left to transformers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files.values import parse_json
from .folder import CONFIG_FILE, POOLER, WEIGHT_FILES, reading_folder

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer

_PREFIX = "bert."  # of the weights in the folder of a model with a head, such as BertForMaskedLM
_SUPPORTED: dict[str, tuple[Any, ...]] = {
    "model_type": ("bert",),
    "hidden_act": ("gelu",),
    "position_embedding_type": ("absolute", None),
    "is_decoder": (False, None),
    "add_cross_attention": (False, None),
    "pruned_heads": ({}, None),
    "quantization_config": (None,),
}
_SIZES = ("vocab_size", "max_position_embeddings", "type_vocab_size", "hidden_size", "intermediate_size")
_COUNTS = (*_SIZES, "num_hidden_layers", "num_attention_heads")
_PEFT_FILE = "adapter_config.json"  # transformers loads such an adapter together with the model
_EMBEDDINGS = "embeddings"

_TOKENIZER_FILE = "tokenizer.json"
_SETTINGS_FILE = "tokenizer_config.json"
_SPECIAL_FILE = "special_tokens_map.json"
_ADDED_FILE = "added_tokens.json"
_CLASSES = ("BertTokenizer", "BertTokenizerFast")
# settings by which transformers changes the normalizer in the file, with its defaults
_NORMALIZER = {
    "lowercase": ("do_lower_case", True),
    "strip_accents": ("strip_accents", None),
    "handle_chinese_chars": ("tokenize_chinese_chars", True),
}
_FRAME = ("cls_token", "sep_token")
_SPECIAL = {f"{name}_token": f"[{name.upper()}]" for name in ("unk", "sep", "pad", "cls", "mask")}


class PlainBert:
    """The forward pass of a BERT for inference on a CPU.

    The texts of a batch are packed, so that only the attention computes padding. The vector of a text does not depend
    on the rest of its batch, except for rounding.

    Args:
        weights: The weights by name, in any floating-point type. They are not copied, so that later changes of float32
            weights take effect.
    """

    def __init__(self, config: Mapping[str, Any], weights: Mapping[str, torch.Tensor]) -> None:
        self.weights = weights
        self.dim = int(config["hidden_size"])
        self.positions = int(config["max_position_embeddings"])
        self._heads = int(config["num_attention_heads"])
        self._eps = float(config["layer_norm_eps"])
        self._layers = [f"encoder.layer.{i}" for i in range(config["num_hidden_layers"])]
        self._full: dict[str, torch.Tensor] = {}
        self._half: dict[str, torch.Tensor] = {}

    def __call__(self, batch: Sequence[Sequence[int]], pooling: str, *, half: bool = False) -> torch.Tensor:
        """Encode tokenized texts.

        Args:
            batch: The wordpieces of each text, special tokens included. At least one text.
            pooling: "cls" or "mean".
            half: Whether matrix products are computed in bfloat16.

        Returns:
            float32, shape (len(batch), dim): The pooled output.
        """
        import torch

        n_texts = len(batch)
        if half:
            batch = [*batch, *_filling([len(pieces) for pieces in batch])]
        lengths = torch.tensor([len(pieces) for pieces in batch])
        longest = int(lengths.max())
        is_text = torch.arange(longest) < lengths[:, None]
        owners, positions = is_text.nonzero().T
        hidden = self._embed(torch.tensor([piece for pieces in batch for piece in pieces]), positions)
        for layer in self._layers:
            hidden = self._layer(layer, hidden, is_text, half)
        if pooling == "cls":
            return hidden[positions == 0][:n_texts]
        sums = hidden.new_zeros(len(batch), self.dim).index_add_(0, owners, hidden)
        return (sums / lengths[:, None])[:n_texts]

    def _embed(self, pieces: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        words = self._look_up("word", pieces)
        types = self.weights[f"{_EMBEDDINGS}.token_type_embeddings.weight"][0].float()
        return self._norm(_EMBEDDINGS, words + types + self._look_up("position", positions))

    def _look_up(self, kind: str, rows: torch.Tensor) -> torch.Tensor:
        import torch

        return torch.nn.functional.embedding(rows, self.weights[f"{_EMBEDDINGS}.{kind}_embeddings.weight"]).float()

    def _layer(self, name: str, hidden: torch.Tensor, is_text: torch.Tensor, half: bool) -> torch.Tensor:
        import torch

        attended = self._attend(f"{name}.attention.self", hidden, is_text, half)
        added = self._linear(f"{name}.attention.output.dense", attended, half)
        hidden = self._norm(f"{name}.attention.output", hidden + added)
        inner = torch.nn.functional.gelu(self._linear(f"{name}.intermediate.dense", hidden, half))
        return self._norm(f"{name}.output", hidden + self._linear(f"{name}.output.dense", inner, half))

    def _attend(self, name: str, hidden: torch.Tensor, is_text: torch.Tensor, half: bool) -> torch.Tensor:
        import torch

        n, longest = is_text.shape
        is_padded = len(hidden) < n * longest
        parts = []
        for part in ("query", "key", "value"):
            values = self._linear(f"{name}.{part}", hidden, half)
            if is_padded:
                packed = values
                values = values.new_zeros(n, longest, self.dim)
                values[is_text] = packed
            parts.append(values.view(n, longest, self._heads, -1).transpose(1, 2))
        query, key, value = parts
        mask = is_text[:, None, None, :] if is_padded else None
        attended = torch.nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        attended = attended.transpose(1, 2).reshape(n, longest, self.dim)
        return attended[is_text] if is_padded else attended.view(n * longest, self.dim)

    def _linear(self, name: str, values: torch.Tensor, half: bool) -> torch.Tensor:
        """Return the product with a matrix. In bfloat16, it is rounded, but sums with it are not."""
        import torch

        linear = torch.nn.functional.linear
        weight, bias = f"{name}.weight", f"{name}.bias"
        if not half:
            return linear(values, self._in_full(weight), self._in_full(bias))
        return linear(values.bfloat16(), self._halved(weight), self._halved(bias))

    def _in_full(self, name: str) -> torch.Tensor:
        if name not in self._full:
            self._full[name] = self.weights[name].float()
        return self._full[name]

    def _halved(self, name: str) -> torch.Tensor:
        if name not in self._half:
            self._half[name] = self.weights[name].bfloat16()
        return self._half[name]

    def _norm(self, name: str, values: torch.Tensor) -> torch.Tensor:
        import torch

        scale, shift = self._in_full(f"{name}.LayerNorm.weight"), self._in_full(f"{name}.LayerNorm.bias")
        return torch.nn.functional.layer_norm(values.float(), (self.dim,), scale, shift, self._eps)


def _filling(lengths: Sequence[int]) -> list[list[int]]:
    """Return texts that bring the wordpieces of a batch to one of few numbers: 12, 16, 24, 32, 48, 64, 96, 128, …

    For each number, torch compiles the products in bfloat16, and keeps them: some 2 MB each. No text is longer than the
    longest of the batch.
    """
    total, longest = sum(lengths), max(lengths)
    power = 1 << max(total - 1, 15).bit_length()
    missing = (power if total > power * 3 // 4 else power * 3 // 4) - total
    whole, rest = divmod(missing, longest)
    return [[0] * longest] * whole + ([[0] * rest] if rest else [])


def read_plain_bert(name: str) -> PlainBert | None:
    """Read the weights of an encoder, or return None if it is not a folder with exactly those of a supported BERT."""
    from safetensors import safe_open

    folder = Path(name)
    weights_file = folder / WEIGHT_FILES[0]
    if not (weights_file.is_file() and (folder / CONFIG_FILE).is_file()) or (folder / _PEFT_FILE).exists():
        return None
    with reading_folder(name):
        config = parse_json((folder / CONFIG_FILE).read_text(encoding="utf-8"))
        if not supports(config):
            return None
        with safe_open(weights_file, framework="pt") as file:
            shapes = {key: tuple(file.get_slice(key).get_shape()) for key in file.keys()}  # noqa: SIM118
            prefix = _PREFIX if f"{_PREFIX}{_EMBEDDINGS}.word_embeddings.weight" in shapes else ""
            if config["num_hidden_layers"] > len(shapes):
                return None
            expected = _shapes(config)
            if any(shapes.get(prefix + key) != shape for key, shape in expected.items()):
                return None
            if not prefix and any(key not in expected and not key.startswith(POOLER) for key in shapes):
                return None
            # copied from the file, since the weights may outlive it
            weights = {key: file.get_tensor(prefix + key).clone() for key in expected}
    return PlainBert(config, weights) if _are_floats(weights) else None


def plain_bert_of(model: Any) -> PlainBert | None:
    """Return the forward pass with the present weights of a model of transformers; None if it is not such a BERT."""
    config = model.config.to_dict()
    if type(model).__name__ != "BertModel" or not supports(config):
        return None
    weights = {name: values.detach() for name, values in model.state_dict().items() if not name.startswith(POOLER)}
    if {name: tuple(values.shape) for name, values in weights.items()} != _shapes(config) or not _are_floats(weights):
        return None
    return PlainBert(config, weights)


def supports(config: Any) -> bool:
    """Return whether a config describes a BERT as published."""
    if not isinstance(config, dict) or any(config.get(name) not in values for name, values in _SUPPORTED.items()):
        return False
    if not all(type(config.get(name)) is int and config[name] > 0 for name in _COUNTS):
        return False
    return config["hidden_size"] % config["num_attention_heads"] == 0 and isinstance(
        config.get("layer_norm_eps"), float
    )


def _are_floats(weights: Mapping[str, torch.Tensor]) -> bool:
    import torch

    known = (torch.float32, torch.float16, torch.bfloat16)
    return all(values.dtype in known for values in weights.values())


def _shapes(config: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of all weights that the vectors depend on, by name."""
    words, positions, types, dim, inner = (config[name] for name in _SIZES)
    linear = {f"attention.self.{part}": (dim, dim) for part in ("query", "key", "value")}
    linear |= {"attention.output.dense": (dim, dim), "intermediate.dense": (inner, dim), "output.dense": (dim, inner)}
    shapes: dict[str, tuple[int, ...]] = {
        f"{_EMBEDDINGS}.word_embeddings.weight": (words, dim),
        f"{_EMBEDDINGS}.position_embeddings.weight": (positions, dim),
        f"{_EMBEDDINGS}.token_type_embeddings.weight": (types, dim),
    }
    norms = [_EMBEDDINGS]
    for i in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        shapes |= {f"{layer}.{name}.weight": shape for name, shape in linear.items()}
        shapes |= {f"{layer}.{name}.bias": shape[:1] for name, shape in linear.items()}
        norms += [f"{layer}.attention.output", f"{layer}.output"]
    return shapes | {f"{norm}.LayerNorm.{part}": (dim,) for norm in norms for part in ("weight", "bias")}


# --- the tokenizer


def read_plain_tokenizer(name: str) -> Tokenizer | None:
    """Read the tokenizer of a folder, if transformers would use it unchanged.

    Returns:
        A tokenizer that neither cuts nor pads. None if the name is not a folder with such a tokenizer.
    """
    from tokenizers import Tokenizer

    folder = Path(name)
    needed = (_TOKENIZER_FILE, _SETTINGS_FILE, CONFIG_FILE)
    if not all((folder / file).is_file() for file in needed) or (folder / _ADDED_FILE).exists():
        return None
    with reading_folder(name):
        text = (folder / _TOKENIZER_FILE).read_text(encoding="utf-8")
        settings = parse_json((folder / _SETTINGS_FILE).read_text(encoding="utf-8"))
        special = folder / _SPECIAL_FILE
        if special.is_file():
            settings = {**parse_json(special.read_text(encoding="utf-8")), **settings}
        tokenizer = Tokenizer.from_str(text)
        truncation = tokenizer.truncation or {}
        settings.setdefault("truncation_side", truncation.get("direction", "right"))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer if _is_used_unchanged(tokenizer, settings) else None


def _is_used_unchanged(tokenizer: Tokenizer, settings: Mapping[str, Any]) -> bool:
    """Return whether transformers would neither change the normalizer nor add tokens, and frames texts as here."""
    state = parse_json(tokenizer.normalizer.__getstate__()) if tokenizer.normalizer else {}
    added = {str(number): token for number, token in tokenizer.get_added_tokens_decoder().items()}
    contents = {token.content for token in added.values()}
    listed: dict[str, dict[str, Any]] = settings.get("added_tokens_decoder", {})
    special = [settings.get(name, default) for name, default in _SPECIAL.items()]
    special += settings.get("additional_special_tokens") or []
    special += list((settings.get("extra_special_tokens") or {}).values())
    return (
        settings.get("tokenizer_class") in _CLASSES
        and settings["truncation_side"].lower() == "right"
        and not settings.get("split_special_tokens")
        and state.get("type") == "BertNormalizer"
        and all(state.get(own) == settings.get(*theirs) for own, theirs in _NORMALIZER.items())
        and all(_same_token(added.get(number), token) for number, token in listed.items())
        and tokenizer.encode("").tokens == [_content(settings.get(name, _SPECIAL[name])) for name in _FRAME]
        and contents.issuperset(map(_content, special))
    )


def _content(token: Any) -> Any:
    return token["content"] if isinstance(token, dict) else token


def _same_token(own: Any, theirs: Mapping[str, Any]) -> bool:
    return own is not None and all(getattr(own, name, None) == value for name, value in theirs.items())
