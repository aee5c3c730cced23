"""What the README and the pages in docs/ show works as it says."""

import re
import shlex
from pathlib import Path

import pytest
import spacy
import srsly

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").glob("*.md"))


def all_blocks(page):
    return re.findall(r"```(\w+)\n(.*?)```", page.read_text(encoding="utf8"), flags=re.DOTALL)


def blocks(language):
    return [text for name, text in all_blocks(ROOT / "README.md") if name == language]


@pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])
def test_a_page_prints_what_stands_below_its_code(page, capsys):
    """The code of a page is one program; a text block right after code is what that prints."""
    namespace = {}
    found = all_blocks(page)
    for (language, text), (following, expected) in zip(found, [*found[1:], ("", "")], strict=True):
        if language == "python":
            exec(text, namespace)
            if following == "text":
                assert capsys.readouterr().out == expected


def test_the_ten_lines_print_what_stands_below_them(capsys):
    exec(blocks("python")[0], {})
    assert capsys.readouterr().out == blocks("text")[0]


@pytest.mark.parametrize("block", [text for text in blocks("python")[1:] if "label_types" in text])
def test_settings_are_understood(block):
    nlp = spacy.blank("en")
    exec(block, {"nlp": nlp})
    assert nlp("").text == ""


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """A folder with the files that the commands name."""
    monkeypatch.chdir(tmp_path)
    Path("medic.txt").write_text("D003920||Diabetes Mellitus|Diabetes\nD009203||Myocardial Infarction|Heart Attack\n")
    Path("medic.txt").rename("medic.txt.gz")  # gzip is seen from the content
    srsly.write_jsonl("abstracts.jsonl", [{"id": "1", "text": "A heart attack in diabetes."}])
    ner = spacy.blank("en")
    ner.add_pipe("entity_ruler").add_patterns([{"label": "DISEASE", "pattern": "diabetes"}])
    ner.to_disk("en_ner_bc5cdr_md")
    return tmp_path


def test_the_commands_run(workplace, command):
    lines = [line for block in blocks("bash") for line in block.splitlines() if line.startswith("spacy-sapbert ")]
    assert {line.split()[1] for line in lines} >= {"kb", "assemble", "link"}
    for line in lines:
        if "newer.kb" in line:
            (workplace / "newer.kb").write_bytes((workplace / "medic.kb").read_bytes())
        finished = command(*shlex.split(line)[1:])
        assert finished.status == 0, finished.err
    assert "D009203" in (workplace / "links.tsv").read_text()
