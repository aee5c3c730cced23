from __future__ import annotations

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.languages import display_tag, known_tag, language_tag
from spacy_sapbert.types import Name, Record


@pytest.mark.parametrize(
    ("raw", "tag"),
    [
        ("es", "es"),
        ("ES", "es"),
        ("es-MX", "es"),
        ("es_419", "es"),
        ("SPA", "es"),
        ("SCR", "hr"),
        (" eng ", "en"),
        ("haw", "haw"),
        ("", ""),
        ("spanish", ""),
        ("e", ""),
        ("12", ""),
        ("éé", ""),
        ("es please", ""),
    ],
)
def test_tags(raw, tag):
    assert known_tag(raw) == tag
    assert known_tag(tag) == tag
    if tag or not raw:
        assert language_tag(raw) == tag
    else:
        with pytest.raises(SapbertError, match=r"E193.*is not a language"):
            language_tag(raw)


def test_a_language_to_show_must_be_in_the_vocabulary(tmp_path):
    names = (Name("fever", "preferred", "s"), Name("fiebre", "exact", "s", "es"))
    kb = build_knowledge_base([Record("D1", names)], tmp_path / "a.kb")
    assert display_tag(kb, "SPA") == "es"
    assert display_tag(kb, None) == display_tag(kb, "") == ""
    with pytest.raises(SapbertError, match=r"E125.*'de' is not a language of names in .*: unknown \(1\), es \(1\)"):
        display_tag(kb, "de")
