import shutil

import pytest

from spacy_sapbert.errors import NotFoundError, OptionError
from spacy_sapbert.kb.storage import load_knowledge_base


def test_the_vocabulary_of_a_saved_pipeline(small_kb, tmp_path):
    (tmp_path / "shared").mkdir()
    shutil.copy(small_kb.path, tmp_path / "shared" / "kb-1a2b.kb")
    assert load_knowledge_base(tmp_path).fingerprint == small_kb.fingerprint
    shutil.copy(small_kb.path, tmp_path / "shared" / "kb-3c4d.kb")
    with pytest.raises(OptionError, match=r"several vocabularies.*kb-1a2b\.kb, .*kb-3c4d\.kb"):
        load_knowledge_base(tmp_path)


def test_a_folder_that_is_not_a_pipeline(tmp_path):
    with pytest.raises(NotFoundError):
        load_knowledge_base(tmp_path)
