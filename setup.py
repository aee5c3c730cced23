"""Put the configs of the repository into the package that is built. Everything else is in pyproject.toml."""

from __future__ import annotations

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

CONFIGS = Path("configs")
PACKAGE = "spacy_sapbert"


class BuildWithConfigs(build_py):
    """Copy the configs next to the modules. An editable install reads them from the repository."""

    def run(self) -> None:
        super().run()
        for source, target in self._copies().items():
            self.mkpath(str(Path(target).parent))
            self.copy_file(source, target)

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        return [*super().get_outputs(include_bytecode), *self._copies().values()]

    def _copies(self) -> dict[str, str]:
        if self.editable_mode:
            return {}
        target = Path(self.build_lib) / PACKAGE / CONFIGS
        return {str(path): str(target / path.name) for path in sorted(CONFIGS.glob("*.cfg"))}


setup(cmdclass={"build_py": BuildWithConfigs})
