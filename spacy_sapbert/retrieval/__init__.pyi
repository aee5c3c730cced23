from .retriever import Retriever
from .settings import ConceptVectorSettings, RetrieverSettings
from .storage import load_retriever, open_retriever, save_retriever

__all__ = [
    "ConceptVectorSettings",
    "Retriever",
    "RetrieverSettings",
    "load_retriever",
    "open_retriever",
    "save_retriever",
]
