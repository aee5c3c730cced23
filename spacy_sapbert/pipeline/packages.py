"""Write the wheels that a machine needs for a pipeline: one of the pipeline, and one of this package."""

import shutil
from base64 import urlsafe_b64encode
from hashlib import sha256
from importlib.metadata import distributions
from pathlib import Path
from typing import List, Optional
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from ..errors import NotFoundError
from ..files.output import replacing, temporary_folder
from .tokenizer import load_pipeline

_PACKAGE = Path(__file__).parents[1]
_OF_INSTALLER = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")


def write_wheels(pipeline: Path, folder: Path, name: Optional[str] = None, version: Optional[str] = None) -> List[Path]:
    """Write the wheels of this package and of a saved pipeline to a folder. Name and version default to those in meta.

    Raises:
        SapbertError: E504 there is no such pipeline, E502 it cannot be loaded.
    """
    from spacy.cli.package import package

    if not (pipeline / "meta.json").is_file():
        raise NotFoundError(what=f"pipeline {pipeline}", remedy="Give the folder of a saved pipeline.")
    load_pipeline(str(pipeline))  # its errors name what is wrong; those of spaCy's command are tracebacks
    folder.mkdir(parents=True, exist_ok=True)
    with temporary_folder(folder / "wheels") as made:
        package(pipeline, made, name=name, version=version, create_sdist=False, create_wheel=True)
        built = [Path(shutil.move(wheel, folder / wheel.name)) for wheel in made.glob("*/dist/*.whl")]
    return [_own_wheel(folder), *built]


def _own_wheel(folder: Path) -> Path:
    """Pack this package as it is installed, from a wheel or from a clone, whose configs are beside it."""
    # a clone may also have the metadata of its build
    about = next(one for one in distributions(name="spacy-sapbert") if one.read_text("METADATA"))
    record = ""
    info = f"spacy_sapbert-{about.version}.dist-info"
    files = {f"{_PACKAGE.name}/{path.relative_to(_PACKAGE).as_posix()}": path for path in _PACKAGE.rglob("*")}
    files |= {f"{_PACKAGE.name}/configs/{path.name}": path for path in (_PACKAGE.parent / "configs").glob("*.cfg")}
    listed = [file for file in about.files or () if file.parts[0] == info and file.name not in _OF_INSTALLER]
    files |= {file.as_posix(): Path(str(about.locate_file(file))) for file in listed}
    wheel = folder / f"spacy_sapbert-{about.version}-py3-none-any.whl"
    with replacing(wheel) as temporary, ZipFile(temporary, "w", ZIP_DEFLATED) as archive:
        for name, path in sorted(files.items()):
            if path.is_file() and path.suffix != ".pyc":
                content = path.read_bytes()
                archive.writestr(ZipInfo(name), content, ZIP_DEFLATED)
                digest = urlsafe_b64encode(sha256(content).digest()).rstrip(b"=").decode()
                record += f"{name},sha256={digest},{len(content)}\n"
        archive.writestr(ZipInfo(f"{info}/RECORD"), f"{record}{info}/RECORD,,\n")
    return wheel
