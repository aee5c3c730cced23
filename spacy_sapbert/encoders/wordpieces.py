"""Count the wordpieces that names need, and change the WordPiece vocabulary of a tokenizer."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ..errors import Errors, SapbertError
from ..files.output import ScratchFolder
from ..files.values import parse_json

CONTINUED = "##"


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


def cut_words(tokenizer: Any, words: Iterable[str]) -> dict[str, list[int]]:
    """Return the ids of the wordpieces of each word."""
    vocabulary = tokenizer.get_vocab()
    cut = _cutter(tokenizer)
    return {word: [vocabulary[piece] for piece in cut(word)] for word in words}


def with_vocabulary(tokenizer: Any, pieces: Sequence[str]) -> Any:
    """Make a similar tokenizer with other wordpieces.

    Args:
        tokenizer: The tokenizer to copy.
        pieces: The wordpieces, by id. All that are `indispensable` must be among them.
    """
    from transformers import AutoTokenizer

    ids = {piece: place for place, piece in enumerate(pieces)}
    with ScratchFolder() as folder:
        tokenizer.save_pretrained(folder)
        _edit_json(folder / "tokenizer.json", lambda saved: _renumber_tokenizer(saved, ids))
        _edit_json(folder / "tokenizer_config.json", lambda saved: _renumber_config(saved, ids))
        (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")
        return AutoTokenizer.from_pretrained(folder, local_files_only=True)


def _cutter(tokenizer: Any) -> Any:
    model = tokenizer.backend_tokenizer.model

    @cache
    def cut(word: str) -> list[str]:
        return [token.value for token in model.tokenize(word)]

    return cut


def _edit_json(path: Path, change: Any) -> None:
    content = parse_json(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


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
    for place in ("sep", "cls"):  # BertProcessing
        if place in frame:
            frame[place][1] = ids[frame[place][0]]


def _renumber_config(saved: dict[str, Any], ids: Mapping[str, int]) -> None:
    tokens = saved.get("added_tokens_decoder", {}).values()
    if tokens:
        saved["added_tokens_decoder"] = {str(ids[token["content"]]): token for token in tokens}
