"""Show the labels of mentions to people: as words, and each in its color."""

from __future__ import annotations

from itertools import pairwise

from ..kb.semantic_types import semantic_type_tree

N_COLORS = 8
"""How many colors `look.css` has."""
_LONGEST_ACRONYM = 4  # in letters; longer words in capitals are words


def display_label(label: str) -> str:
    """Return a label as words: "disease_ontology" becomes "Disease Ontology", and "CellLine" becomes "Cell Line".

    A label with blanks is written for people and stays as it is.
    """
    if " " in label.strip():
        return label.strip()
    apart = "".join(f"{one} " if one.islower() and other.isupper() else one for one, other in pairwise(f"{label} "))
    return " ".join(map(_word, apart.replace("_", " ").replace("-", " ").split())) or "No label"


def display_type(type: str) -> str:
    """Return a semantic type as words: the name of a type of the UMLS for its id ("T047"), and others as labels are."""
    node = semantic_type_tree().type_id_to_node.get(type)
    return node.full_name if node else display_label(type)


def _word(word: str) -> str:
    if word.isupper() and len(word) > _LONGEST_ACRONYM:
        return word.capitalize()
    return word[:1].upper() + word[1:]


class LabelColors:
    """The number of the color of each label, from 0, in the order in which labels are first asked for."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __getitem__(self, label: str) -> int:
        return self._numbers.setdefault(label, len(self._numbers)) % N_COLORS
