"""Print the lowest version that pyproject.toml allows of each package that users install.

    python scripts/lowest.py > constraints-lowest.txt

`make test-lowest` installs them. The extras `docs` and `dev` are of no use to users, so they have no lowest versions.
"""

import sys
from pathlib import Path

from packaging.requirements import Requirement

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
NOT_FOR_USERS = {"docs", "dev"}
HEAD = "# the lowest versions that pyproject.toml allows, by scripts/lowest.py; `make test-lowest` installs them\n"


def lowest_versions(project: dict) -> list[str]:
    """Return a constraint for each package of a project, by name.

    Args:
        project: The table `project` of pyproject.toml.

    Raises:
        ValueError: A package has no lowest version, or two.
    """
    extras = project["optional-dependencies"]
    texts = [*project["dependencies"], *(text for name in extras if name not in NOT_FOR_USERS for text in extras[name])]
    found: dict[str, str] = {}
    for requirement in map(Requirement, texts):
        if requirement.name == project["name"]:  # an extra that includes another
            continue
        lowest = [part.version for part in requirement.specifier if part.operator == ">="]
        if len(lowest) != 1 or found.setdefault(requirement.name, lowest[0]) != lowest[0]:
            raise ValueError(f"{requirement.name} must have one lowest version, the same everywhere")
    return [f"{name}=={version}" for name, version in sorted(found.items())]


def constraints(pyproject: Path = PYPROJECT) -> str:
    """Return the text of constraints-lowest.txt."""
    import tomllib  # from Python 3.11 on

    return HEAD + "".join(f"{line}\n" for line in lowest_versions(tomllib.loads(pyproject.read_text())["project"]))


if __name__ == "__main__":
    sys.stdout.write(constraints())
