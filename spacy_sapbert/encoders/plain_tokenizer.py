"""Tokenize without transformers, whose import takes longer than all else that an encoder does at its start."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..files.values import parse_json
from .folder import CONFIG_FILE, reading_folder

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_FILE = "tokenizer.json"
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
_SPECIAL = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]"} | {
    "mask_token": "[MASK]"
}


def read_plain_tokenizer(name: str) -> Tokenizer | None:
    """Read the tokenizer of a folder, if transformers would use it unchanged.

    Args:
        name: A folder or hub name.

    Returns:
        A tokenizer that neither cuts nor pads. None if the name is not a folder with such a tokenizer.
    """
    from tokenizers import Tokenizer

    folder = Path(name)
    needed = (_FILE, _SETTINGS_FILE, CONFIG_FILE)
    if not all((folder / file).is_file() for file in needed) or (folder / _ADDED_FILE).exists():
        return None
    with reading_folder(name):
        text = (folder / _FILE).read_text(encoding="utf-8")
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
    special = [settings.get(name, default) for name, default in _SPECIAL.items()]
    special += settings.get("additional_special_tokens") or []
    special += list((settings.get("extra_special_tokens") or {}).values())
    return (
        settings.get("tokenizer_class") in _CLASSES
        and settings["truncation_side"].lower() == "right"
        and not settings.get("split_special_tokens")
        and state.get("type") == "BertNormalizer"
        and all(state.get(own) == settings.get(*theirs) for own, theirs in _NORMALIZER.items())
        and all(_same_token(added.get(number), token) for number, token in _listed(settings).items())
        and tokenizer.encode("").tokens == [_content(settings.get(name, _SPECIAL[name])) for name in _FRAME]
        and contents.issuperset(map(_content, special))
    )


def _content(token: Any) -> Any:
    return token["content"] if isinstance(token, dict) else token


def _listed(settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = settings.get("added_tokens_decoder", {})
    return found


def _same_token(own: Any, theirs: Mapping[str, Any]) -> bool:
    return own is not None and all(getattr(own, name, None) == value for name, value in theirs.items())
