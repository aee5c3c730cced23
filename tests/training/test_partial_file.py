from __future__ import annotations

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.training.partial_file import PartialFile

RUN = {"of": "this", "n": 3}


def test_a_run_that_was_killed_goes_on(tmp_path):
    first = PartialFile(tmp_path / "out.tsv", RUN)
    assert first.done == 0
    first.add({"text": "line\nbreak"})
    first.add([1, (2, 3)])
    with first.path.open("ab") as file:
        file.write(b'{"cut o')
    again = PartialFile(tmp_path / "out.tsv", dict(reversed(RUN.items())))
    assert again.done == 2
    again.add("third")
    assert list(again.pieces()) == [{"text": "line\nbreak"}, [1, [2, 3]], "third"]
    again.remove()
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("left", [b"", b'{"n": 3', b'{"n": 4, "of": "this"}\n"piece"\n', b"\xff\xff\n"])
def test_what_another_run_left_is_thrown_away(tmp_path, left):
    (tmp_path / ".out.tsv.partial").write_bytes(left)
    begun = PartialFile(tmp_path / "out.tsv", RUN)
    assert begun.done == 0
    begun.add("piece")
    assert PartialFile(tmp_path / "out.tsv", RUN).done == 1


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(SapbertError, match=r"E507.*nowhere"):
        PartialFile(tmp_path / "nowhere" / "out.tsv", RUN)
