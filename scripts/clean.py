"""Remove everything that the project made. The assets stay.

python scripts/clean.py
"""

from __future__ import annotations

import shutil
from pathlib import Path

MADE = ("corpus", "training", "metrics", "packages")


def main() -> None:
    for name in MADE:
        shutil.rmtree(name, ignore_errors=True)
    Path("project.lock").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
