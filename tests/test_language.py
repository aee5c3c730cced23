"""Plain English in all that a user reads on the command line: short sentences, and one word for each thing."""

import re

import pytest
import typer.main

from spacy_sapbert.cli import app
from spacy_sapbert.errors import messages

MOST_WORDS = 25
NOT_USED = re.compile(r"\b(beside|learnt|normali[sz]ed form|normalis\w+|scarce|taken for|taught|tells|whoever)\b", re.I)
CODE = re.compile(r"\[([EW]\d{3})\] ")


def sentences(text):
    """RETURNS: the sentences of all paragraphs; a format field such as {path} has no blank, so it is one word."""
    paragraphs = re.split(r"\n\s*\n", text)
    return [sentence for part in paragraphs for sentence in re.split(r"(?<=[.!?])\s+", " ".join(part.split()))]


def too_long(text):
    return [sentence for sentence in sentences(text) if len(sentence.split()) > MOST_WORDS]


def walk(command, path):
    """YIELDS: each command below this one and itself, with its name."""
    yield path, command
    for name, child in getattr(command, "commands", {}).items():
        yield from walk(child, f"{path} {name}")


def help_texts():
    """YIELDS: a name and the help text of each command, argument and option."""
    for path, command in walk(typer.main.get_command(app), "spacy-sapbert"):
        yield path, command.help
        for parameter in command.params:
            if parameter.name not in ("help", "ctx"):
                yield f"{path} {parameter.name}", parameter.help


HELP = dict(help_texts())
MESSAGES = messages()


def test_long_sentences_are_found():
    short, long = " ".join(["word"] * MOST_WORDS) + ".", " ".join(["word"] * (MOST_WORDS + 1)) + "."
    assert too_long(f"{short} {short}\n\n{long}") == [long]


def test_the_texts_are_found():
    assert {"spacy-sapbert", "spacy-sapbert evaluate linking", "spacy-sapbert kb build delimiter"} <= HELP.keys()
    assert {"E111", "W201"} <= MESSAGES.keys()


@pytest.mark.parametrize("name", HELP)
def test_help(name):
    text = HELP[name]
    assert text, "there is no help text"
    assert text.rstrip().endswith(".")
    assert not too_long(text)
    assert not NOT_USED.search(text)


@pytest.mark.parametrize("code", MESSAGES)
def test_messages(code):
    found = CODE.match(MESSAGES[code])
    assert found
    assert found[1] == code
    text = MESSAGES[code][found.end() :]
    assert not too_long(text)
    assert not NOT_USED.search(text)


def test_commands_are_shown_by_their_purpose():
    command = typer.main.get_command(app)
    assert command.help == "Link biomedical text to UMLS, MeSH or your own vocabulary."
    names = command.list_commands(None)
    assert names[0] == "demo"
    assert sorted(names) == sorted(command.commands)
    panels = [command.commands[name].rich_help_panel for name in names]
    assert list(dict.fromkeys(panels)) == ["Start", "Vocabulary", "Pipelines", "Training", "Evaluation"]
    assert panels == sorted(panels, key=list(dict.fromkeys(panels)).index)  # each is shown in one place
