import pickle
import re
from pathlib import Path
from string import Formatter

import pytest

import spacy_sapbert
from spacy_sapbert.errors import CannotReadError, ChoiceError, FamilyError, MissingExtraError, SapbertError, messages


@pytest.mark.parametrize(
    ("error", "text"),
    [
        # the code, the cause and the usual remedy
        (
            CannotReadError(path="a.txt", reason="no such file"),
            "[E120] Cannot read a.txt (no such file). Check the path and the permissions of the file.",
        ),
        # another remedy takes the place of the usual one
        (
            CannotReadError(path="a.txt", reason="empty", remedy="Give {a file}."),
            "[E120] Cannot read a.txt (empty). Give {a file}.",
        ),
        (ChoiceError(given="c", what="letter", choices=["a", "b"]), "Choose one of: a, b."),
        (ChoiceError(given="c", what="letter", choices=[]), "Choose one of: none."),
        (ChoiceError(given="{0}", what="format", choices="x"), "'{0}' is not a format."),  # values may have braces
        (
            MissingExtraError(what="This", package="pyarrow", extra="parquet"),
            "Install it: pip install 'spacy-sapbert[parquet]'.",
        ),
    ],
)
def test_errors_of_families(error, text):
    assert text in str(error)


@pytest.mark.parametrize("family", FamilyError.__subclasses__())
def test_every_family_can_be_caught_and_comes_back_from_another_process(family):
    braces = Formatter().parse(messages()[family.code])
    error = family(**{name: "value" for _, name, _, _ in braces if name})
    assert isinstance(error, SapbertError)
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), str(back)) == (family, str(error))


def test_the_package_names_only_codes_that_exist():
    files = Path(spacy_sapbert.__file__).parent.rglob("*.py")
    named = {code for path in files for code in re.findall(r"\b[EW][1-6]\d\d\b", path.read_text(encoding="utf-8"))}
    assert named == messages().keys()
