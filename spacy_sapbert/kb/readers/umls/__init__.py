"""Read the UMLS Metathesaurus and RxNorm in Rich Release Format (RRF).

`MRCONSO` is required. `MRSTY`, `MRDEF`, `MRREL` and `MRRANK` are read if they exist. The format is described in chapter
3 of the UMLS Reference Manual (https://www.ncbi.nlm.nih.gov/books/NBK9685/).
"""

from __future__ import annotations

from .atoms import UmlsSettings
from .reader import read_rxnorm, read_umls

__all__ = ["UmlsSettings", "read_rxnorm", "read_umls"]
