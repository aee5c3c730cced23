import math
import re

import pytest

from spacy_sapbert.errors import DamagedError, SapbertError
from spacy_sapbert.linking.settings import (
    CandidateSettings,
    LinkerParameters,
    LinkerSettings,
    SelectionSettings,
    VectorSettings,
)

BLOCKS = [("candidates", CandidateSettings), ("selection", SelectionSettings), ("vectors", VectorSettings)]


@pytest.mark.parametrize(("name", "block"), BLOCKS)
def test_what_is_missing_has_its_default(name, block):
    assert block.read("mine", name, {}) == block()
    assert block.read("mine", name, block().as_dict()) == block()


def test_what_is_given_is_read():
    values = {"sparse": False, "text_normalizer": "lower", "sparse_weight": 0.3, "prior_weight": 0, "batch_size": 2}
    assert CandidateSettings.read("mine", "candidates", values).as_dict() == values
    margins = {"short_form_margin": 1, "split_margin": -0.1, "spelling_margin": 0.5}
    assert SelectionSettings.read("mine", "selection", margins) == SelectionSettings(1, -0.1, 0.5)
    for pooling in (None, "cls", "mean"):
        assert VectorSettings.read("mine", "vectors", {"pooling": pooling}).pooling == pooling


@pytest.mark.parametrize(("name", "block"), BLOCKS)
def test_unknown_setting(name, block):
    known = ", ".join(block().as_dict())
    with pytest.raises(SapbertError, match=rf"\[E406\] The setting {name} of mine is 'marginn'; .*one of {known}"):
        block.read("mine", name, {"marginn": 1})


@pytest.mark.parametrize(
    ("block", "setting", "value", "expected"),
    [
        (VectorSettings, "pooling", "max", "null, 'cls' or 'mean'"),
        (VectorSettings, "pooling", 1, "str or null"),
        (VectorSettings, "compression", "zip", "one of int8, int4, float32"),
        (CandidateSettings, "sparse", "no", "bool"),
        (CandidateSettings, "sparse", 0, "bool"),
        (CandidateSettings, "sparse_weight", -0.1, "0 or more"),
        (CandidateSettings, "sparse_weight", math.inf, "0 or more"),
        (CandidateSettings, "sparse_weight", "0.5", "float or null"),
        (CandidateSettings, "sparse_weight", True, "float or null"),
        (CandidateSettings, "prior_weight", -1, "0 or more"),
        (CandidateSettings, "prior_weight", math.nan, "0 or more"),
        (CandidateSettings, "batch_size", 0, "at least 1"),
        (CandidateSettings, "batch_size", 2.5, "int"),
        (CandidateSettings, "batch_size", None, "int"),
        (CandidateSettings, "text_normalizer", "biosin", "one of .*biosyn"),
        (CandidateSettings, "text_normalizer", ["lower"], "str"),
        (SelectionSettings, "split_margin", None, "float"),
        (SelectionSettings, "split_margin", "wide", "float"),
    ],
)
def test_impossible_settings_of_a_block(block, setting, value, expected):
    shown = rf"({re.escape(str(value))}|{re.escape(repr(value))})"
    message = rf"\[E406\] The setting block\.{setting} of mine is {shown}; it must be {expected}"
    with pytest.raises(SapbertError, match=message):
        block.read("mine", "block", {setting: value})


def test_linkers_share_no_block():
    one, other = LinkerSettings(), LinkerSettings()
    one.candidates.sparse_weight, one.selection.split_margin = 0.5, 1.0
    one.types.append("Drug")
    assert other == LinkerSettings()


def test_what_is_saved_is_loaded(tmp_path):
    fitted = LinkerParameters(sparse_weight=0.75, threshold=0.5, annotated={"D1": 3, "OMIM:2": 1}, prior_weight=0.2)
    fitted.save(tmp_path)
    assert LinkerParameters.load(tmp_path) == fitted


def test_nothing_was_fitted_where_nothing_was_saved(tmp_path):
    assert LinkerParameters.load(tmp_path) == LinkerParameters()


@pytest.mark.parametrize("text", ["{", '{"other": 1}'])
def test_a_damaged_file_is_reported(tmp_path, text):
    (tmp_path / "parameters.json").write_text(text)
    with pytest.raises(DamagedError, match=r"parameters\.json"):
        LinkerParameters.load(tmp_path)


def test_what_no_calibration_fitted_stays_without_one():
    published = LinkerParameters(sparse_weight=1.7, threshold=0.0)
    assert published.without_calibration() == published
    calibrated = LinkerParameters(1.7, 0.6, ((0.1, 0.2), (0.9, 0.8)), 0.5)
    assert calibrated.without_calibration() == LinkerParameters(1.7)
    with_prior = calibrated._replace(annotated={"D1": 3}, prior_weight=0.2)
    assert with_prior.without_calibration() == LinkerParameters(1.7, annotated={"D1": 3}, prior_weight=0.2)
