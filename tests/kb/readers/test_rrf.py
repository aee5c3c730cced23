"""Where the files of a UMLS release may lie: the same rows are read from all places."""

import gzip
import hashlib
import io
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.readers import ReadReport, guess_format, read_vocabulary

NAMES = b"".join(
    b"C900000%d|ENG|P|L1|PF|S1|Y|A1||||ABC|PT|X1|name %d \xc3\xa9|0|N||\n" % (number, number) for number in range(1, 9)
)
TYPES = b"".join(b"C900000%d|T047|A1|a type|AT1||\n" % number for number in range(1, 9))


def read(path):
    report = ReadReport()
    records = list(read_vocabulary(path, "umls", report=report, strict=True))
    return records, report.origins[path]


def zipped(files, method=zipfile.ZIP_DEFLATED):
    """The bytes of a zip file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def write(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


PLAIN = {"MRCONSO.RRF": NAMES, "MRSTY.RRF": TYPES}
GZIPPED = {"MRCONSO.RRF.gz": gzip.compress(NAMES), "MRSTY.RRF.gz": gzip.compress(TYPES)}


def below(prefix, files):
    return {f"{prefix}/{name}": content for name, content in files.items()}


PLACES = {
    "folder": (PLAIN, "."),
    "gzipped": (GZIPPED, "."),
    "unpacked before gzipped": ({**GZIPPED, **PLAIN}, "."),
    "small letters": ({"mrconso.rrf": NAMES, "mrsty.rrf": TYPES}, "."),
    "META": (below("META", PLAIN), "."),
    "META of a release": (below("2099AA/META", PLAIN), "."),
    "names": (PLAIN, "MRCONSO.RRF"),
    "gzipped names": (GZIPPED, "MRCONSO.RRF.gz"),
    "another table": (GZIPPED, "MRSTY.RRF.gz"),
    "names of another name": ({"english.txt": NAMES, "MRCONSO.RRF": b"", "MRSTY.RRF": TYPES}, "english.txt"),
    "zip in a folder": ({"umls-2099AA-metathesaurus.zip": zipped(below("2099AA/META", PLAIN))}, "."),
    "zip": ({"umls.zip": zipped(PLAIN)}, "umls.zip"),
    "zip of gzipped files": ({"umls.zip": zipped(below("META", GZIPPED))}, "umls.zip"),
}


@pytest.mark.parametrize("place", PLACES)
def test_the_same_is_read_from_all_places(tmp_path, place):
    files, path = PLACES[place]
    write(tmp_path, files)
    before = sorted(tmp_path.rglob("*"))
    records, origin = read(tmp_path / path)
    assert [record.concept_id for record in records] == [f"C900000{number}" for number in range(1, 9)]
    assert [record.names[0].text for record in records] == [f"name {number} é" for number in range(1, 9)]
    assert all(record.types == ("T047",) for record in records)
    assert origin["rows"] == {"MRCONSO": 8, "MRSTY": 8}
    assert origin["absent"] == ["MRDEF", "MRREL", "MRRANK", "MRCUI"]
    assert sorted(tmp_path.rglob("*")) == before


def test_checksums_are_those_of_the_files_as_they_are_packed(tmp_path):
    write(tmp_path, GZIPPED)
    wanted = [
        {"file": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in GZIPPED.items()
    ]
    assert read(tmp_path)[1]["files"] == wanted
    (tmp_path / "umls.zip").write_bytes(zipped(below("META", GZIPPED)))
    in_archive = read(tmp_path / "umls.zip")[1]["files"]
    assert [file["sha256"] for file in in_archive] == [file["sha256"] for file in wanted]
    assert in_archive[0]["file"] == "umls.zip/META/MRCONSO.RRF.gz"


def test_progress_goes_by_the_bytes_as_they_are_packed(tmp_path):
    write(tmp_path, GZIPPED)
    report = ReadReport()
    list(read_vocabulary(tmp_path, "umls", report=report))
    assert report.bytes_read == report.bytes_total == sum(map(len, GZIPPED.values()))


@pytest.mark.parametrize(
    ("files", "path", "name"),
    [
        (PLAIN, ".", None),
        (below("2098AB/META", PLAIN), "2098AB/META", "2098AB"),
        (below("2098AB/META", PLAIN), ".", "2098AB"),
        ({"2098ac-meta.zip": zipped(PLAIN)}, ".", "2098AC"),
        ({"meta.zip": zipped(below("2098AA/META", PLAIN))}, ".", "2098AA"),
    ],
)
def test_the_name_of_the_release(tmp_path, files, path, name):
    write(tmp_path, files)
    assert read(tmp_path / path)[1]["release"] == name


def damaged(content):
    return content[: len(content) * 2 // 3]


def encrypted(archive):
    """The zip file, marked as one that needs a password."""
    return archive.replace(b"PK\x03\x04\x14\x00\x00", b"PK\x03\x04\x14\x00\x01").replace(
        b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01"
    )


def broken(archive):
    """The zip file with other packed data of its first member that is long."""
    info = next(info for info in zipfile.ZipFile(io.BytesIO(archive)).infolist() if "MRCONSO" in info.filename)
    start = info.header_offset + 30 + len(info.filename) + 12
    return archive[:start] + b"\xff" * 30 + archive[start + 30 :]


@pytest.mark.parametrize(
    ("files", "path", "message"),
    [
        ({}, "missing", r"E120.*missing"),
        ({}, "missing.zip", r"E120.*missing.zip"),
        ({}, "missing/MRCONSO.RRF", r"E120.*MRCONSO"),
        ({"MRSTY.RRF": TYPES}, ".", "E504"),
        ({"MRSTY.RRF": TYPES}, "MRSTY.RRF", "E504"),
        ({"umls.zip": zipped({"README": b""})}, ".", "E504"),
        ({**below("2098AA/META", PLAIN), **below("2099AA/META", PLAIN)}, ".", r"E141.*2098AA/META.*2099AA/META"),
        ({"a.zip": zipped(PLAIN), "b.zip": zipped(PLAIN)}, ".", r"E141.*a\.zip/MRCONSO.*b\.zip/MRCONSO"),
        ({"MRCONSO.RRF.gz": damaged(gzip.compress(NAMES))}, ".", r"E121.*MRCONSO.RRF.gz"),
        ({"MRCONSO.RRF.gz": gzip.compress(NAMES)[:20] + b"x" * 20}, ".", r"E121.*MRCONSO.RRF.gz"),
        ({"umls.zip": damaged(zipped(PLAIN))}, ".", r"E121.*umls.zip"),
        ({"meta.zip": zipped({"MRCONSO.RRF.gz": damaged(gzip.compress(NAMES))})}, ".", r"E121.*meta.zip/MRCONSO"),
        ({"umls.zip": broken(zipped(PLAIN))}, ".", r"E121.*umls.zip/MRCONSO.RRF"),
        ({"umls.zip": encrypted(zipped(PLAIN))}, ".", r"E120.*umls.zip.*password"),
    ],
)
def test_what_cannot_be_read(tmp_path, files, path, message):
    write(tmp_path, files)
    with pytest.raises(SapbertError, match=message):
        read(tmp_path / path)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    method=st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]),
    changes=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=20),
)
def test_a_changed_archive_is_read_or_reported(tmp_path, method, changes):
    archive = bytearray(zipped(PLAIN, method))
    for place, byte in changes:
        archive[place % len(archive)] = byte
    (tmp_path / "umls.zip").write_bytes(archive)
    try:
        records = read(tmp_path / "umls.zip")[0]
    except SapbertError as error:
        assert "[E" in str(error)  # noqa: PT017
    else:
        assert isinstance(records, list)


def test_names_that_lead_out_of_an_archive_lead_nowhere(tmp_path):
    folder = tmp_path / "in" / "side"
    write(folder, {"umls.zip": zipped(below("../../out", PLAIN))})
    assert len(read(folder / "umls.zip")[0]) == 8
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_the_format_is_guessed(tmp_path):
    write(tmp_path, {**below("2099AA/META", GZIPPED), "meta.zip": zipped(PLAIN), "gzipped.zip": zipped(GZIPPED)})
    assert guess_format(tmp_path) == guess_format(tmp_path / "2099AA" / "META") == "umls"
    assert guess_format(tmp_path / "meta.zip") == guess_format(tmp_path / "gzipped.zip") == "umls"
    assert guess_format(tmp_path / "2099AA" / "META" / "MRCONSO.RRF.gz") == "umls"
