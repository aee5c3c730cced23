"""The UMLS Metathesaurus in its Rich Release Format: `MRCONSO` and, where they are there, `MRSTY`, `MRDEF`, `MRREL`,
`MRRANK` (UMLS Reference Manual, chapter 3, https://www.ncbi.nlm.nih.gov/books/NBK9685/).
"""

from __future__ import annotations

from .reader import read_umls
from .settings import UmlsSettings

__all__ = ["UmlsSettings", "read_umls"]
