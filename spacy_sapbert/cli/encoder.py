"""Define `spacy-sapbert encoder` and `spacy-sapbert import`, which show, use, shrink and convert encoders."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from ..encoders.biosyn_import import import_biosyn
from ..encoders.compression import describe, write_vectors
from ..encoders.encoder import Encoder, as_transformer, open_encoder
from ..encoders.transformer import TransformerEncoder
from ..errors import Errors, OptionError, SapbertError
from ..files.console import show, stderr_console, track
from ..files.opening import STDIN, open_text
from ..files.output import refuse_input
from ..files.values import parse_int
from ..kb.knowledge_base import KnowledgeBase

encoder = typer.Typer(help="Inspect an encoder, encode texts with it, or make it smaller.", no_args_is_help=True)
import_ = typer.Typer(help="Convert published models to encoders.", no_args_is_help=True)

EncoderName = Annotated[str, typer.Argument(help="Encoder folder or hub name.")]

_SQLITE = b"SQLite format 3\0"


Half = Enum("Half", {name: name for name in ("float16", "bfloat16")}, type=str)  # type: ignore[misc]


@encoder.command("info")
def info(encoder: EncoderName) -> None:
    """Show the size and the settings of an encoder, and how it was made."""
    show(describe(open_named(encoder)))


@encoder.command("embed")
def embed(
    encoder: EncoderName,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write. Its name must end in .npy.")],
    texts: Annotated[
        Path,
        typer.Argument(metavar="[FILE]", help="File with one text per line, plain or gzipped; - reads standard input."),
    ] = STDIN,
) -> None:
    """Write the vectors of texts as a float32 matrix, with one row per line.

    The vectors have length 1 if the encoder is l2_normalized.
    Blank lines get a row of zeros, and are counted.
    """
    refuse_input(output, [texts])
    opened = open_named(encoder, device="auto")
    with open_text(texts) as lines:
        read = track((line.rstrip("\r\n") for line in lines), stderr_console(), "texts")
        show(write_vectors(opened, read, output))


@encoder.command("prune")
def prune(
    encoder: EncoderName,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the new encoder.")],
    vocabulary: Annotated[
        Path | None,
        typer.Option(help="Keep the wordpieces of these names: a knowledge base, or a file with one name per line."),
    ] = None,
    keep_pieces: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of wordpieces to keep, the most frequent first.")
    ] = None,
    layers: Annotated[
        str | None,
        typer.Option(
            help="Number of layers to keep: the first, the last, and evenly spaced ones between. Or the layers "
            "themselves, counted from 0: 0,2,5, or 0, for a single one."
        ),
    ] = None,
    dtype: Annotated[
        Half | None,
        typer.Option(
            help="Type of weights that take half the space. float16 is more exact; bfloat16 has the range of float32."
        ),
    ] = None,
) -> None:
    """Write a smaller encoder: with fewer wordpieces or layers, or with weights that take half the space.

    A name keeps its vector if all of its wordpieces and all layers stay.
    Special tokens and single characters always stay, so the encoder can still read any text.
    With --dtype, it still computes in float32.
    """
    from ..encoders import compression as shrink

    if keep_pieces and not vocabulary:
        raise OptionError(option="--keep-pieces", reason="it needs --vocabulary")
    if not (vocabulary or layers or dtype):
        raise OptionError(option="prune", reason="nothing would be pruned; give --vocabulary, --layers or --dtype")
    refuse_input(output, [Path(encoder), vocabulary])
    opened = as_transformer(open_named(encoder), "This command")
    result: dict[str, Any] = {}
    if vocabulary:
        result["vocabulary"] = vocabulary.name
        names = track(_names(vocabulary), stderr_console(), "names")
        result |= shrink.prune_vocabulary(opened, names, keep_pieces=keep_pieces)
    if layers:
        try:
            numbers = [parse_int(layer) for layer in layers.removesuffix(",").split(",")]
        except ValueError as error:
            raise OptionError(option="--layers", reason="it needs a number, or numbers from 0: 0,2,5") from error
        result["layers"] = numbers if "," in layers else shrink.spread_layers(opened, numbers[0])
        shrink.keep_layers(opened, result["layers"])
    if result:
        opened.record("prune", **result)
    if dtype:
        shrink.quantize(opened, dtype.value)
        opened.record("quantize", dtype=dtype.value)
        result["dtype"] = dtype.value
    opened.save(output)
    size = sum(path.stat().st_size for path in output.rglob("*") if path.is_file())
    show({**result, "folder": str(output), "bytes": size})


def open_named(
    name: str, pooling: str | None = None, device: str = "cpu", l2_normalized: bool | None = None
) -> Encoder:
    """Open an encoder that a command needs. The settings are those of `open_encoder`.

    Raises:
        SapbertError: E301 the name is "none".
    """
    opened = open_encoder(name, pooling=pooling, l2_normalized=l2_normalized, device=device)
    if opened is None:
        raise SapbertError(Errors.E301.format(name=name, reason="this name means that there is no encoder"))
    return opened


def _names(path: Path) -> Iterator[str]:
    """Yield the names of a knowledge base, or the lines of a text file that are not blank."""
    with open_text(path, encoding="latin-1") as start:
        is_knowledge_base = start.buffer.read(len(_SQLITE)) == _SQLITE
    if is_knowledge_base:
        yield from KnowledgeBase(path).names()
        return
    with open_text(path) as lines:
        yield from (line.strip() for line in lines if line.strip())


# --- import


@import_.callback()
def _group() -> None:
    """Convert published models to encoders."""


@import_.command("biosyn")
def biosyn(
    folder: Annotated[Path, typer.Argument(help="Model folder, as BioSyn's own code writes it.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the encoder.")],
) -> None:
    """Convert a published BioSyn model to an encoder, with its lexical model and sparse weight.

    The command reads the model's pickle as plain data and runs no code from it.
    """
    import_biosyn(folder, output)
    info = describe(TransformerEncoder(str(output), device="cpu"))
    shown = ("encoder", "layers", "dim", "vocabulary", "bytes", "pooling", "l2_normalized", "lexical_model")
    show({name: info[name] for name in shown})
