import shutil

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.storage import load_knowledge_base


def test_the_vocabulary_of_a_saved_pipeline(small_kb, tmp_path):
    (tmp_path / "shared").mkdir()
    shutil.copy(small_kb.path, tmp_path / "shared" / "kb-1a2b.kb")
    assert load_knowledge_base(tmp_path).fingerprint == small_kb.fingerprint
    shutil.copy(small_kb.path, tmp_path / "shared" / "kb-3c4d.kb")
    with pytest.raises(SapbertError, match=r"E350.*kb-1a2b\.kb, .*kb-3c4d\.kb"):
        load_knowledge_base(tmp_path)


def test_a_folder_that_is_no_pipeline(tmp_path):
    with pytest.raises(SapbertError, match=r"E10[12]"):
        load_knowledge_base(tmp_path)
