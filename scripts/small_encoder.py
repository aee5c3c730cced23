"""Make the small encoder that the starter transformer is trained from: fewer wordpieces, new words, fewer layers.

    python scripts/small_encoder.py microsoft/BiomedNLP-PubMedBERT names.kb --layers 0,6,11 --output base

The new words need training.
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from spacy_sapbert.encoders.compression import keep_layers, pieces_of, prune_vocabulary, replace_vocabulary
from spacy_sapbert.encoders.transformer import TransformerEncoder
from spacy_sapbert.files.console import show, stderr_console, track
from spacy_sapbert.kb.knowledge_base import KnowledgeBase
from spacy_sapbert.text.normalize import TEXT_NORMALIZERS


def worth_adding(encoder: TransformerEncoder, names: Iterable[str], n: int) -> dict[str, list[int]]:
    """Return the n words that save most wordpieces if each becomes one, best first, with their present wordpieces."""
    backend, normalize = encoder.tokenizer.backend_tokenizer, TEXT_NORMALIZERS[encoder.text_normalizer]
    counts: Counter[str] = Counter()
    for name in map(normalize, names):
        clean = backend.normalizer.normalize_str(name) if backend.normalizer else name
        counts.update(word for word, _ in backend.pre_tokenizer.pre_tokenize_str(clean))
    pieces = {word: [token.id for token in backend.model.tokenize(word)] for word in counts}
    saved = {word: count * (len(pieces[word]) - 1) for word, count in counts.items() if len(pieces[word]) > 1}
    return {word: pieces[word] for word in sorted(saved, key=lambda word: (-saved[word], word))[:n]}


def add_words(encoder: TransformerEncoder, words: dict[str, list[int]]) -> None:
    """Make words wordpieces. Each starts as the mean of the embeddings of those that it replaces."""
    pieces = pieces_of(encoder.tokenizer)
    replace_vocabulary(encoder, [*pieces, *words], [*([row] for row in range(len(pieces))), *words.values()])


def cut_positions(encoder: TransformerEncoder, n: int) -> None:
    """Keep the position embeddings of a BERT for texts of n wordpieces."""
    import torch

    embeddings = encoder.model.embeddings.position_embeddings
    if not encoder.max_length <= n <= len(embeddings.weight):
        raise typer.BadParameter(f"The encoder reads {encoder.max_length} to {len(embeddings.weight)} wordpieces.")
    embeddings.weight = torch.nn.Parameter(embeddings.weight.detach()[:n].clone())
    encoder.model.config.max_position_embeddings = n
    encoder.tokenizer.model_max_length = n


def main(
    base: Annotated[str, typer.Argument(help="Encoder folder or hub name.")],
    names: Annotated[Path, typer.Argument(help="Knowledge base with the names to read.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the new encoder.")],
    layers: Annotated[str, typer.Option(help="Layers to keep, counted from 0: 0,6,11.")],
    add_pieces: Annotated[int, typer.Option(min=0, help="Number of words that become wordpieces.")] = 10_000,
    keep_pieces: Annotated[int | None, typer.Option(min=1, help="Maximum number of wordpieces.")] = None,
    positions: Annotated[int, typer.Option(min=2, help="Number of positions to keep.")] = 64,
) -> None:
    """Write a smaller encoder, with mean pooling."""
    encoder, kb = TransformerEncoder(base, pooling="mean", device="cpu"), KnowledgeBase(names)
    words = worth_adding(encoder, track(kb.names(), stderr_console(), "names"), add_pieces)
    add_words(encoder, words)
    result: dict[str, Any] = {"vocabulary": names.name, "added": len(words)}
    result |= prune_vocabulary(encoder, kb.names(), keep_pieces=keep_pieces, always=words)
    result |= {"layers": [int(layer) for layer in layers.split(",")], "positions": positions}
    keep_layers(encoder, result["layers"])
    cut_positions(encoder, positions)
    encoder.record("prune", **result)
    encoder.save(output)
    show({**result, "folder": str(output)})


if __name__ == "__main__":
    typer.run(main)
