"""A pipeline on its way to a folder."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Errors, SapbertError

if TYPE_CHECKING:
    from spacy.language import Language


def check_output(output: Path) -> None:
    """Raise SapbertError: E535 what is there is no pipeline."""
    if output.exists() and not (output / "meta.json").is_file():
        raise SapbertError(Errors.E535.format(path=output.absolute()))


def save_pipeline(nlp: Language, output: Path) -> None:
    """Write to a folder beside it and rename, so that no half pipeline is left and an old one goes only at the end.

    Raises:
        SapbertError: E507 it cannot be written, E535 what is there is no pipeline.
    """
    check_output(output)
    output = output.absolute()
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{output.name}.", dir=output.parent) as temporary:
            nlp.to_disk(Path(temporary) / "new")
            if output.exists():
                output.rename(Path(temporary) / "old")
            (Path(temporary) / "new").rename(output)
    except OSError as error:
        raise SapbertError(Errors.E507.format(path=output, reason=error)) from error
