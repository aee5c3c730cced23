from .flat import NameVectors
from .index import Index
from .storage import open_index

__all__ = [
    "Index",
    "NameVectors",
    "open_index",
]
