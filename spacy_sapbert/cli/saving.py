"""Save a pipeline to a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import CannotWriteError
from ..files.output import replacing_folder

if TYPE_CHECKING:
    from spacy.language import Language


def check_output(output: Path) -> None:
    """Check that the folder is a pipeline, or does not exist."""
    if output.exists() and not (output / "meta.json").is_file():
        reason = "it already exists and is not a pipeline"
        raise CannotWriteError(path=output.absolute(), reason=reason, remedy="Choose another folder.")


def save_pipeline(nlp: Language, output: Path) -> None:
    """Save a pipeline through a temporary folder and a rename.

    An interrupted save therefore leaves no half pipeline, and an old pipeline is replaced only at the end.
    """
    check_output(output)
    output = output.absolute()
    try:
        with replacing_folder(output) as new:
            nlp.to_disk(new)
    except OSError as error:
        raise CannotWriteError(path=output, reason=error) from error
