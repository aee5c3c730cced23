import numpy as np
import pytest
from spacy_sapbert.linking.matcher_storage import MATCHER, load_matcher, save_matcher

from spacy_sapbert.linking.name_matcher import NameMatcher, matcher_cache
from spacy_sapbert.store.artifact import ArtifactWriter


@pytest.fixture
def built(small_kb):
    return NameMatcher.build(small_kb)


def test_what_was_saved_is_opened(built, tmp_path):
    assets = ArtifactWriter(tmp_path)
    save_matcher(built, assets)
    opened = load_matcher({role: tmp_path / name for role, name in assets.names.items()})
    np.testing.assert_array_equal(opened.hashes, built.hashes)
    np.testing.assert_array_equal(opened.rows, built.rows)
    assert opened.kb.path.parent == tmp_path


def external(matcher, folder):
    assets = ArtifactWriter(folder, external=True)
    save_matcher(matcher, assets)
    return assets.outside[MATCHER].path


def test_keys_in_the_cache_stay_there(built, tmp_path, monkeypatch):
    monkeypatch.setenv("SPACY_SAPBERT_CACHE", str(tmp_path / "cache"))
    assert external(built, tmp_path / "new").startswith(str(tmp_path / "cache" / "assets"))
    matcher = NameMatcher.cached(built.kb)
    assert external(matcher, tmp_path / "new") == str(matcher_cache(built.kb))
    assert not (tmp_path / "new").exists()
