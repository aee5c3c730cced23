import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.ids import display_tag, known_tag, language_tag
from spacy_sapbert.types import Name, Record


@pytest.mark.parametrize(
    ("tag", "spellings"),
    [("es", ["es", "ES", "es-MX", "es_419", "SPA"]), ("hr", ["SCR"]), ("en", [" eng "]), ("haw", ["haw"]), ("", [""])],
)
def test_tags(tag, spellings):
    for spelling in spellings:
        assert known_tag(spelling) == language_tag(spelling) == known_tag(tag) == tag


@pytest.mark.parametrize("text", ["spanish", "e", "12", "éé", "es please"])
def test_what_is_not_a_tag(text):
    assert known_tag(text) == ""
    with pytest.raises(SapbertError, match=r"E193.*is not a language"):
        language_tag(text)


def test_a_language_to_show_must_be_in_the_vocabulary(tmp_path):
    names = (Name("fever", "preferred", "s"), Name("fiebre", "exact", "s", "es"))
    kb = build_knowledge_base([Record("D1", names)], tmp_path / "a.kb")
    assert display_tag(kb, "SPA") == "es"
    assert display_tag(kb, None) == display_tag(kb, "") == ""
    with pytest.raises(SapbertError, match=r"E125.*'de' is not a language of names in .*: unknown \(1\), es \(1\)"):
        display_tag(kb, "de")
