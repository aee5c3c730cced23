"""What was fitted or learnt for a linker, and is saved with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from ..errors import Errors, SapbertError

FITTED_FILE = "fitted.json"

# Fitted on the training parts of BC5CDR and NCBI Disease. The threshold is within 0.1 points of the best F1 of links
# when their gold mentions are linked to the starter vocabulary: precision 95.2, recall 88.9 with the starter encoder,
# 95.3 and 85.8 with the sparse score alone (`benchmarks/thresholds.py`). On MEDIC F1 is 82.2 there, and 83.5 at best
# (0.775). The weight has the best mean accuracy on MEDIC with the starter encoder (`benchmarks/decisions.py`).
THRESHOLD = 0.85
SPARSE_WEIGHT = 0.2


class Fitted(NamedTuple):
    """Values that a linker takes where its config says nothing.

    sparse_weight (float): λ.
    threshold (float): a link needs a higher score.
    """

    sparse_weight: float = SPARSE_WEIGHT
    threshold: float = THRESHOLD

    def save(self, folder: Path) -> None:
        (folder / FITTED_FILE).write_text(json.dumps(self._asdict(), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Fitted:
        """Read what `save` wrote; without a file, nothing was fitted. RAISES (SapbertError): E306 it is damaged."""
        path = folder / FITTED_FILE
        if not path.is_file():
            return cls()
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            return cls(**{name: float(value) for name, value in values.items()})
        except (ValueError, TypeError, AttributeError) as error:
            raise SapbertError(Errors.E306.format(path=path, reason=error)) from error
