"""Save a pipeline to a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Errors, SapbertError
from ..files.output import replace_folder, temporary_folder

if TYPE_CHECKING:
    from spacy.language import Language


def check_output(output: Path) -> None:
    """Check that the folder is a pipeline, or does not exist.

    Raises:
        SapbertError: E535 the path exists and is not a pipeline.
    """
    if output.exists() and not (output / "meta.json").is_file():
        raise SapbertError(Errors.E535.format(path=output.absolute()))


def save_pipeline(nlp: Language, output: Path) -> None:
    """Save a pipeline through a temporary folder and a rename.

    An interrupted save therefore leaves no half pipeline, and an old pipeline is replaced only at the end.

    Raises:
        SapbertError: E507 the folder cannot be written. E535 the path exists and is not a pipeline.
    """
    check_output(output)
    output = output.absolute()
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(output) as temporary:
            nlp.to_disk(temporary / "new")
            replace_folder(temporary / "new", output)
    except OSError as error:
        raise SapbertError(Errors.E507.format(path=output, reason=error)) from error
