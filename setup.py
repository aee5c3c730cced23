"""Put the configs of the repository into the package that is built, and build the same bytes from the same files.

Everything else is in pyproject.toml.
"""

from __future__ import annotations

import gzip
import os
import tarfile
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

CONFIGS = Path("configs")
PACKAGE = "spacy_sapbert"
READABLE = 0o644

os.umask(0o022)  # the rights of the files are part of the wheel


class BuildWithConfigs(build_py):
    """Copy the configs next to the modules. An editable install reads them from the repository."""

    def run(self) -> None:
        super().run()
        for source, target in self._copies().items():
            self.mkpath(str(Path(target).parent))
            self.copy_file(source, target)
        for path in () if self.editable_mode else self.get_outputs(include_bytecode=False):
            os.chmod(path, READABLE)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        return [*super().get_outputs(include_bytecode), *self._copies().values()]

    def _copies(self) -> dict[str, str]:
        if self.editable_mode:
            return {}
        target = Path(self.build_lib) / PACKAGE / CONFIGS
        return {str(path): str(target / path.name) for path in sorted(CONFIGS.glob("*.cfg"))}


class SdistOfOneTime(sdist):
    """Write the time SOURCE_DATE_EPOCH into the sdist, and no user and no rights. The wheel has that time anyway."""

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, owner=None, group=None) -> str:
        if "SOURCE_DATE_EPOCH" not in os.environ or format != "gztar":
            return str(super().make_archive(base_name, format, root_dir, base_dir, owner, group))
        time = int(os.environ["SOURCE_DATE_EPOCH"])
        path = Path(f"{base_name}.tar.gz")
        path.parent.mkdir(parents=True, exist_ok=True)

        def without_user(member: tarfile.TarInfo) -> tarfile.TarInfo:
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mtime = time
            member.mode = READABLE
            return member

        with (
            path.open("wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=time) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            folder = Path(root_dir or os.curdir)
            for member in sorted(one for one in (folder / base_dir).rglob("*") if one.is_file()):
                archive.add(member, member.relative_to(folder).as_posix(), recursive=False, filter=without_user)
        return str(path)


setup(cmdclass={"build_py": BuildWithConfigs, "sdist": SdistOfOneTime})
