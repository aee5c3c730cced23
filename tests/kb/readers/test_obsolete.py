from hypothesis import given
from hypothesis import strategies as st

from spacy_sapbert.kb.readers.ontology import Obsolete, replaced_ids


def followed(concept_id, obsolete):
    """Follow one replacement after the other."""
    visited = set()
    while concept_id in obsolete:
        if concept_id in visited or len(obsolete[concept_id].replaced_by) != 1:
            return None
        visited.add(concept_id)
        concept_id = obsolete[concept_id].replaced_by[0]
    return concept_id


def test_a_chain():
    obsolete = {"a": Obsolete(("a", "a2"), ("b",)), "b": Obsolete(("b",), ("c",))}
    assert replaced_ids(obsolete) == {"c": ["a", "a2", "b"]}


@given(st.dictionaries(st.sampled_from("abcdefg"), st.lists(st.sampled_from("abcdefghi"), max_size=2)))
def test_chains_circles_and_several_replacements(links):
    obsolete = {one: Obsolete((one,), tuple(others)) for one, others in links.items()}
    expected = {}
    for one in obsolete:
        if replacement := followed(one, obsolete):
            expected.setdefault(replacement, []).append(one)
    assert replaced_ids(obsolete) == expected
