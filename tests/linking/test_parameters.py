import pytest

from spacy_sapbert.errors import DamagedError
from spacy_sapbert.linking.parameters import LinkerParameters


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
