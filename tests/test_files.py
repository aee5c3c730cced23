from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.files import open_output, open_text, without_gz


def read(path: Path, **kwargs) -> list[str]:
    with open_text(path, **kwargs) as lines:
        return list(lines)


def test_plain_and_gzipped_files_read_the_same(tmp_path):
    plain, packed = tmp_path / "a.txt", tmp_path / "a.txt.gz"
    plain.write_bytes("één\r\ntwee\n".encode())
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read(plain) == read(packed) == ["één\n", "twee\n"]
    assert read(packed, newline="") == ["één\r\n", "twee\n"]


def test_gzip_is_seen_from_the_content_not_from_the_name(tmp_path):
    packed, plain = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    packed.write_bytes(gzip.compress(b"packed"))
    plain.write_bytes(b"plain")
    assert read(packed) == ["packed"]
    assert read(plain) == ["plain"]


def test_byte_order_mark_is_left_out(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfid\n")
    assert read(path) == ["id\n"]


def test_gzip_that_was_cut_off(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(bytes(range(256)).hex().encode() * 50)[:-20])
    with pytest.raises(SapbertError, match=r"E121.*a\.gz"):
        read(path)


def test_gzip_with_damaged_content(tmp_path):
    data = bytearray(gzip.compress(b"some text " * 100))
    data[-8] ^= 0xFF
    path = tmp_path / "a.gz"
    path.write_bytes(data)
    with pytest.raises(SapbertError, match="E121"):
        read(path)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_wrong_encoding_names_the_line(tmp_path, pack):
    path = tmp_path / "a"
    path.write_bytes(pack(b"good\n" * 30000 + "Sjögren\n".encode("latin-1") + b"good\n"))
    with pytest.raises(SapbertError, match=r"E122.*line 30001:"):
        read(path)
    assert read(path, encoding="latin-1")[30000] == "Sjögren\n"


def test_character_cut_off_at_the_end_names_the_last_line(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"one\ntwo\n" + "é".encode()[:1])
    with pytest.raises(SapbertError, match=r"line 3:"):
        read(path)


def test_what_cannot_be_opened(tmp_path):
    with pytest.raises(SapbertError, match="E120"):
        read(tmp_path / "missing")
    with pytest.raises(SapbertError, match="E120"):
        read(tmp_path)
    with pytest.raises(SapbertError, match=r"E123.*utf-9"):
        read(tmp_path, encoding="utf-9")


def test_errors_of_the_caller_pass_through(tmp_path):
    path = tmp_path / "a"
    path.write_text("text")
    with pytest.raises(PermissionError), open_text(path):
        raise PermissionError


def test_without_gz():
    assert without_gz(Path("v1.2/hp.obo.gz")) == Path("v1.2/hp.obo")
    assert without_gz(Path("hp.obo")) == Path("hp.obo")


def test_an_output_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "out.txt"
    with open_output(path) as write:
        write("é")
        assert not path.exists()
    assert path.read_bytes() == "é".encode()
    with pytest.raises(ZeroDivisionError), open_output(path) as write:
        write(f"half {1 / 0}")
    assert path.read_bytes() == "é".encode()
    assert [child.name for child in tmp_path.iterdir()] == ["out.txt"]
