"""A language is added by its file alone, as the README of the languages says."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import spacy_sapbert
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.text import languages
from spacy_sapbert.text.languages.rules import read_rules

from ..cases import cases

PACKAGE = Path(spacy_sapbert.__file__).parent
FOLDER = Path(languages.__file__).parent
README = (FOLDER / "README.md").read_text(encoding="utf-8")
ITALIAN = r"""# Words of Italian.
[function_words]
di del della il la
[open_words]
di del della il la
[general_names]
malattia sindrome
[plurals]
4 -i o
4 io-
[stop_words]
di del della il la e o
[linking_words]
di del della e o
[spelled]
1 uno?\b|prim|mono
α alfa
[shortened]
Dott
[joining]
e o
[connectors]
e o , / così_come
[parts_of_connectors]
_e_ _o_ / _così_come_
[phrases]
così_come testa_e_collo
[classifier]
tipo
[prefixes]
iper ipo
[determiners]
il la
[prepositions]
di del della
[qualifiers]
acuto acuta cronico cronica
[positions]
destro sinistro
[conditions]
cancro tumore
[endings of conditions]
ite oma
[endings of nouns]
[ei]?
[adjectives]
..+(?:ico|ale)
[opposites]
alto / basso
destro / sinistro
[beginnings]
iper / ipo
[numerals]
uno due tre
[negations]
non senza
"""
# what a program does with the new language
PROGRAM = """
import json, sys, warnings
warnings.simplefilter("error")
import spacy
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.linking.other_words import OtherWords
from spacy_sapbert.text.critical_parts import contradictions
from spacy_sapbert.text.languages import LANGUAGES, rules_of
from spacy_sapbert.text.words import read_words, word_keys
from spacy_sapbert.types import Name, Record

folder, rules, found = sys.argv[1], rules_of("it"), {"languages": LANGUAGES}
found["keys"] = [word_keys(text, rules) for text in ("Tumori della mammella", "tumoro mammella")]
right, left = (read_words(f"rene {side}", rules).critical for side in ("destro", "sinistro"))
found["opposites"] = len(list(contradictions(right, left)))
names = {"D1": "cancro della mammella", "D2": "cancro del colon", "D3": "virus dell immunodeficienza umana"}
names["D4"] = "movimento oculare anormale"
records = [Record(one, (Name(text, "exact", ""),)) for one, text in names.items()]
kb = str(build_knowledge_base(records, folder + "/names.kb").path)

nlp = spacy.blank("it")
nlp.add_pipe("abbreviation_resolver")
nlp.add_pipe("concept_matcher", config={"kb": kb})
nlp.add_pipe("composite_splitter")
nlp.add_pipe("sapbert_linker", config={"kb": kb, "encoder": "none"})
nlp.add_pipe("assertion_detector", config={"cues": {"negated": {"before": ["senza"]}}})
doc = nlp("Senza CANCRO della mammella e del colon. Il virus dell immunodeficienza umana (VIU). Il VIU.")
found["mentions"] = [[mention.text, mention.kb_id_, mention._.assertion] for mention in doc.ents]
finder = OtherWords.build(nlp.get_pipe("concept_matcher").kb, rules)
text = "un movimento oculare rapido anormale"
found["finder"] = [text[match.start : match.end] for match in finder.find(text)]
found["errors"] = []
for name in ("assertion_detector", "note_sections"):
    try:
        spacy.blank("it").add_pipe(name)
    except SapbertError as error:
        found["errors"].append(str(error))
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What the program finds, with a copy of the package to which the file of the language was added."""
    folder = tmp_path_factory.mktemp("package")
    shutil.copytree(PACKAGE, folder / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__", "starter"))
    (folder / PACKAGE.name / FOLDER.relative_to(PACKAGE) / "it.txt").write_text(ITALIAN, encoding="utf-8")
    variables = {
        "PYTHONPATH": str(folder),
        "SPACY_SAPBERT_CACHE": str(folder / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    done = subprocess.run(command, env=os.environ | variables, cwd=folder, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_words(found):
    assert found["languages"] == ["de", "en", "es", "fr", "it", "nl", "pt"]
    assert found["keys"] == [["mammella", "tumoro"]] * 2
    assert found["opposites"] == 1


def test_pipeline(found):
    assert found["mentions"] == [
        ["CANCRO della mammella e del colon", "D1|D2", ["negated"]],
        ["virus dell immunodeficienza umana", "D3", []],
        ["VIU", "D3", []],
        ["VIU", "D3", []],
    ]
    assert found["finder"] == ["movimento oculare rapido anormale"]


def test_components_that_need_files_of_their_own(found):
    cues, headings = found["errors"]
    assert cues.startswith("[E125] 'it' is not a language with cues. Choose one of: de, en, es, fr, nl, pt. Or give")
    assert "the setting cues" in cues
    assert headings.startswith(
        "[E125] 'it' is not a language with headings of notes. Choose one of: de, en, es, fr, nl, pt."
    )


def sections(text):
    """RETURNS (dict[str, str]): the text of each section of a file."""
    _, *parts = re.split(r"^\[(.+)\]\n", text, flags=re.M)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def read(folder, changed):
    """RETURNS (LanguageRules): the rules of Italian with some other sections, or without those that are None."""
    texts = {name: text for name, text in (sections(ITALIAN) | changed).items() if text is not None}
    path = folder / "it.txt"
    path.write_text("# Italian\n" + "".join(f"[{name}]\n{text}\n" for name, text in texts.items()), encoding="utf-8")
    return read_rules(path)


def test_the_readme_names_all_sections(tmp_path):
    _, needed, optional = (set(re.findall(r"`([a-z_ ]+)`", part)) for part in README.split("\n## "))
    found = set().union(*(sections(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.txt")))
    assert read(tmp_path, {}).code == "it"
    assert sections(ITALIAN).keys() <= needed
    assert found - sections(ITALIAN).keys() <= optional


@pytest.mark.parametrize("name", sections(ITALIAN))
@pytest.mark.parametrize("text", [None, "", "# to do"])
def test_a_missing_section(name, text, tmp_path):
    with pytest.raises(SapbertError, match=rf"\[E121\] .*it\.txt .*\[{name}\] is missing or empty.*README\.md"):
        read(tmp_path, {name: text})


@pytest.mark.parametrize(*cases(__file__, "a_malformed_section"))
def test_a_malformed_section(name, text, tmp_path):
    with pytest.raises(SapbertError, match=rf"\[E121\] .*it\.txt .*the section \[{name}\] is malformed: "):
        read(tmp_path, {name: text})


def test_an_unknown_section(tmp_path):
    with pytest.raises(SapbertError, match=r"\[E121\] .*it\.txt .*the section \[heds\] is unknown"):
        read(tmp_path, {"heds": "cancro"})


def test_comments_stand_anywhere(tmp_path):
    rules = read(tmp_path, {"plurals": "# genes\n4 -i o\n# more\n5 a-e\n", "stems": "# a wine\nbrunelli\n"})
    assert [rules.words.singular(word) for word in ("tumori", "patologiae", "brunelli")] == [
        "tumoro", "patologia", "brunelli",
    ]  # fmt: skip
