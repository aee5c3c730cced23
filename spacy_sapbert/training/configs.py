"""The training configs that come with the package."""

from __future__ import annotations

from pathlib import Path

_FILES = {
    "linker": "linker.cfg",
    "ner": "ner.cfg",
    "retriever": "concept_retriever.cfg",
    "pretrain": "pretrain.cfg",
    "pairs": "pairs.cfg",
    "mine": "mine.cfg",
    "augment": "augment.cfg",
    "discover": "discover.cfg",
    "serve": "serve.cfg",
}
_TRANSFORMER = {"ner": "ner_trf.cfg"}
KINDS = tuple(_FILES)

# A wheel has the configs in the package. A checkout has them in the top folder, where the project reads them.
_PACKAGE = Path(__file__).parents[1]
_FOLDERS = (_PACKAGE / "configs", _PACKAGE.parent / "configs")


def read_config(kind: str, *, gpu: bool = False) -> str:
    """Return the text of a config, with its comments.

    Args:
        gpu: Whether the config is for training on a GPU: an NER is a transformer, and spaCy takes the memory that
            PyTorch has.
    """
    name = _TRANSFORMER.get(kind, _FILES[kind]) if gpu else _FILES[kind]
    folder = next(folder for folder in _FOLDERS if (folder / name).is_file())
    text = (folder / name).read_text(encoding="utf-8")
    return text.replace("gpu_allocator = null", 'gpu_allocator = "pytorch"') if gpu else text


def config_name(kind: str, *, gpu: bool = False) -> str:
    """Return the name of the file in which the package has a config."""
    return _TRANSFORMER.get(kind, _FILES[kind]) if gpu else _FILES[kind]
