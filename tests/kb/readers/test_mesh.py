import gzip
import shutil
from pathlib import Path

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.readers import guess_format
from spacy_sapbert.types import Name, Record

SEEDS = Path(__file__).parents[2] / "fuzz" / "seeds" / "vocabularies" / "mesh"  # invented records
NAMES = [("Red Fevers", "preferred"), ("Fevers, Red", "exact"), ("Scarlet Fever", "narrow")]


def names(source, *given):
    return tuple(Name(text, scope, source, "en") for text, scope in given)


@pytest.mark.parametrize("path", ["1/desc2026.xml", "3/d2026.bin"])
def test_descriptors(read, path):
    path = SEEDS / path
    records, report = read(path, source="M", strict=True)
    red, fevers = records
    assert set(red.names) == set(names("M", *NAMES))
    assert red.names[0].text == "Red Fevers"
    assert red.xrefs[0] == "CAS:52665-69-7"
    assert red[2:6] == ((), ("Disease",), "Fevers that are red.", ("D000002",))
    assert fevers == Record("D000002", names("M", ("Fevers", "preferred")), (), ("Disease",))
    assert (report.rows_read, report.broken) == (2, 0)


def test_supplementary_records(read):
    (record,), _ = read(SEEDS / "2" / "supp2026.xml", source="M", strict=True)
    headings = (("D001561", "skos:broadMatch"), ("D002164", "skos:relatedMatch"))
    texts = names("M", ("redicine", "preferred"), ("Redix", "exact"))
    assert record == Record(
        "C000002", texts, (), ("Chemical",), "a red dye", (), tuple(heading for heading, _ in headings), headings
    )
    (ascii_record,), _ = read(SEEDS / "4" / "c2026.bin", source="M", strict=True)
    assert (ascii_record.types, ascii_record.definition) == (("Chemical",), "a red dye")
    assert ascii_record.names == names("M", ("redicine", "preferred"), ("Redix", "narrow"))


@pytest.mark.parametrize("path", ["1/desc2026.xml", "2/supp2026.xml", "3/d2026.bin", "4/c2026.bin"])
def test_format_is_guessed(tmp_path, path):
    plain = tmp_path / "x" / (SEEDS / path).name
    plain.parent.mkdir()
    shutil.copy(SEEDS / path, plain)
    packed = plain.with_suffix(".gz")  # as NLM names it
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert guess_format(plain) == guess_format(packed) == "mesh"


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.xml", "<QualifierRecordSet></QualifierRecordSet>", "root element is <QualifierRecordSet>"),
        ("a.xml", '<!DOCTYPE DescriptorRecordSet [<!ENTITY a "b">]><DescriptorRecordSet/>', "E206"),
        ("a.xml", "<DescriptorRecordSet><DescriptorRecord>", "not well-formed"),
        ("a.bin", "*NEWRECORD\nMH = a\n", "no id"),
        ("a.bin", "*NEWRECORD\nMH a\n", "no ="),
    ],
)
def test_broken_files(read, tmp_path, name, text, reason):
    with pytest.raises(SapbertError, match=reason):
        read(tmp_path / name, text, "mesh", strict=True)
