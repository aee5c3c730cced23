import pickle
from string import Formatter

import pytest

from spacy_sapbert.errors import CannotReadError, ChoiceError, FamilyError, MissingExtraError, SapbertError


def test_an_error_of_a_family_has_the_code_the_cause_and_the_usual_remedy():
    error = CannotReadError(path="a.txt", reason="no such file")
    assert str(error) == "[E120] Cannot read a.txt (no such file). Check the path and the permissions of the file."


def test_another_remedy_takes_the_place_of_the_usual_one():
    error = CannotReadError(path="a.txt", reason="empty", remedy="Give {a file}.")
    assert str(error) == "[E120] Cannot read a.txt (empty). Give {a file}."


def test_choices_are_listed_with_commas():
    assert "Choose one of: a, b." in str(ChoiceError(given="c", what="letter", choices=["a", "b"]))
    assert "Choose one of: none." in str(ChoiceError(given="c", what="letter", choices=[]))


def test_values_may_have_braces():
    assert "'{0}' is not a format." in str(ChoiceError(given="{0}", what="format", choices="x"))


def test_the_remedy_of_a_missing_extra_is_its_command():
    error = MissingExtraError(what="This", package="pyarrow", extra="parquet")
    assert str(error).endswith("Install it: pip install 'spacy-sapbert[parquet]'.")


@pytest.mark.parametrize("family", FamilyError.__subclasses__())
def test_every_family_can_be_caught_and_comes_back_from_another_process(family):
    braces = Formatter().parse(f"{family.message} {family.usual_remedy}")
    error = family(**{name: "value" for _, name, _, _ in braces if name})
    assert isinstance(error, SapbertError)
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), str(back)) == (family, str(error))
