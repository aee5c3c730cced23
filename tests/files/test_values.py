import gzip
import json
import os
import random
from pathlib import Path

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.files.opening import open_text
from spacy_sapbert.files.output import ScratchFolder, open_output, replacing, replacing_folder
from spacy_sapbert.files.values import hash64, parse_float, parse_int, parse_json


def read(path: Path, **kwargs) -> list[str]:
    with open_text(path, **kwargs) as lines:
        return list(lines)


def test_gzip_that_was_cut_off(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(bytes(range(256)).hex().encode() * 50)[:-20])
    with pytest.raises(SapbertError, match=r"E121.*a\.gz"):
        read(path)


@pytest.mark.parametrize("damage", [lambda data: data[:-20], lambda data: data[:-60] + bytes(60)])
def test_gzip_that_is_damaged_and_not_utf_8(tmp_path, damage):
    text = b"\xff" + random.Random(0).randbytes(100_000).replace(b"\n", b"")  # one line, which leads to the damage
    path = tmp_path / "a.gz"
    path.write_bytes(damage(gzip.compress(text)))
    with pytest.raises(SapbertError, match=r"E121.*a\.gz.*download it again"):
        read(path)


@pytest.mark.parametrize("text", ["0", " 12 ", "-5", "+7", "\u00a03", "9" * 18, "007"])
def test_numbers(text):
    assert parse_int(text) == int(text)
    assert (parse_float(" 0.5"), parse_float("-1e3")) == (0.5, -1000)


@pytest.mark.parametrize("text", ["", "-", "1.0", "1_0", "²", "٣", "１", "\x1c0", "0\x1f", "--1", "9" * 19, "1" * 5000])
def test_what_is_not_a_whole_number(text):
    with pytest.raises(ValueError, match=r"not a whole number|invalid literal"):
        parse_int(text)


@pytest.mark.parametrize("text", ["", "x", "nan", "inf", "1e999", "1_0", "٣", "9" * 5000])
def test_what_is_not_a_number(text):
    with pytest.raises(ValueError, match=r"number|could not convert"):
        parse_float(text)


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("[1,\n2", 2, "Expecting"),
        ("[" * 100_000, 1, "nested too deeply"),
        ('[12,\n{"a": ' + "1" * 5000 + "}]", 2, "too many digits"),
    ],
)
def test_what_is_not_json_names_the_line(text, line, reason):
    for given in (text, text.encode()):
        with pytest.raises(json.JSONDecodeError, match=reason) as caught:
            parse_json(given)
        assert caught.value.lineno == line


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_wrong_encoding_names_the_line(tmp_path, pack):
    path = tmp_path / "a"
    path.write_bytes(pack(b"good\n" * 30000 + "Sjögren\n".encode("latin-1") + b"good\n"))
    with pytest.raises(SapbertError, match=r"E127.*line 30001:"):
        read(path)
    assert read(path, encoding="latin-1")[30000] == "Sjögren\n"
    path.write_bytes(pack(b"one\ntwo\n" + "é".encode()[:1]))  # a character is cut off at the end
    with pytest.raises(SapbertError, match=r"line 3:"):
        read(path)


def test_errors_of_the_caller_pass_through(tmp_path):
    path = tmp_path / "a"
    path.write_text("text")
    with pytest.raises(PermissionError), open_text(path):
        raise PermissionError


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


def test_a_file_is_replaced_when_it_is_whole(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def write_half():
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        write_half()
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]
    assert path.read_text() == "old"
    with replacing(path) as temporary:
        temporary.write_text("new")
    assert [file.read_text() for file in tmp_path.iterdir()] == ["new"]
    with pytest.raises(SapbertError, match="E507"), replacing(path / "b.txt") as temporary:  # below a file
        temporary.write_text("nowhere")


def test_a_scratch_folder_lasts_as_long_as_its_object():
    scratch = ScratchFolder()
    path = scratch.path
    (path / "a").write_text("a")
    child = os.fork()
    if not child:
        scratch._remove()  # as at the end of a forked process
        os._exit(0)
    os.waitpid(child, 0)
    assert (path / "a").exists()
    del scratch
    assert not path.exists()


def test_a_folder_is_replaced_and_put_back_after_a_failure(tmp_path, monkeypatch):
    (tmp_path / "old").mkdir()
    with replacing_folder(tmp_path / "old") as new:
        (new / "new").touch()
    assert [file.name for file in (tmp_path / "old").iterdir()] == ["new"]
    with pytest.raises(FileNotFoundError), replacing_folder(tmp_path / "old") as new:
        new.rmdir()
    assert [file.name for file in tmp_path.iterdir()] == ["old"]
    assert [file.name for file in (tmp_path / "old").iterdir()] == ["new"]


def test_the_hash_is_the_same_everywhere():
    """The value was taken with another program: `printf breast | b2sum -l 64`, its bytes from last to first."""
    assert hash64("breast") == 0xA2F74AD632408F23
    assert 0 <= hash64("") < 2**64
