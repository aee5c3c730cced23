import gzip

import pytest

from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.readers import guess_format
from spacy_sapbert.types import Name

from ...belb_files import write_kb, write_table

GENES = [([1], ["A1BG", "alpha-1-B"]), ([2], ["a1bg"]), ([3], ["abg"])]
SUBSETS = "subsets:\n  gnormplus: [9606, 10116]\n"


def texts(record):
    return [(name.text, name.scope) for name in record.names]


def test_numbers_become_the_ids_of_the_vocabulary(read, tmp_path):
    concepts = [(["MESH:D000001", "OMIM:1", "DO:DOID:1"], ["Red fever", "Fever, red", "Red fever"]), (["C2"], ["ague"])]
    folder = write_kb(tmp_path, "ctd_diseases", concepts)
    assert guess_format(folder) == "belb"
    records, report = read(folder, strict=True)
    assert [(record.concept_id, record.alternative_ids) for record in records] == [
        ("D000001", ("OMIM:1", "DOID:1")),
        ("C2", ()),
    ]
    assert records[0].names[0] == Name("Red fever", "preferred", "ctd_diseases")
    assert texts(records[0])[1:] == [("Fever, red", "exact"), ("Red fever", "exact")]
    assert (report.records, report.broken) == (2, 0)
    assert [file["file"] for file in report.origins[folder]["files"]] == ["kb.tsv.gz", "identifier_mapping.tsv.gz"]


def test_ids_that_are_numbers_get_the_prefix_of_the_vocabulary(read, tmp_path):
    records, _ = read(write_kb(tmp_path, "ncbi_gene", GENES, species=(9606, 10090, 10116)), strict=True)
    assert [record.concept_id for record in records] == ["NCBIGene:1", "NCBIGene:2", "NCBIGene:3"]


def test_the_species_of_a_corpus(read, tmp_path):
    folder = write_kb(tmp_path, "ncbi_gene", GENES, species=(9606, 10090, 10116), subsets=SUBSETS)
    records, report = read(folder, subset="gnormplus")
    assert [record.concept_id for record in records] == ["NCBIGene:1", "NCBIGene:3"]
    assert report.rows_dropped == {"not selected": 1}
    with pytest.raises(SapbertError, match=r"E125.*'nlm_gene' is not a subset in .*conf\.yaml.*gnormplus"):
        read(folder, subset="nlm_gene")


def test_the_preferred_name_comes_first(read, tmp_path):
    folder = write_kb(tmp_path, "ncbi_taxonomy", GENES)
    columns = ("attribute", "description", "identifier", "name", "uid")
    rows = [("-", 13, 9606, "human", 0), ("-", 0, 9606, 'Homo "sapiens', 1)]
    write_table(folder / "tables" / "kb.tsv.gz", columns, rows)
    (record,), _ = read(folder, strict=True)
    assert texts(record) == [('Homo "sapiens', "preferred"), ("human", "exact")]


def test_a_concept_whose_id_went_to_another_one_keeps_its_names(read, tmp_path):
    folder = write_kb(tmp_path, "cellosaurus", [(["CVCL_1"], ["HeLa"]), (["CVCL_2"], ["HeLa 2"])])
    table = folder / "tables" / "identifier_mapping.tsv.gz"
    write_table(table, ("internal_identifier", "original_identifier"), [(1, "CVCL_1"), (1, "CVCL_2")])
    records, _ = read(folder, strict=True)
    assert [record.concept_id for record in records] == ["BELB:0", "CVCL_1"]
    assert records[1].alternative_ids == ("CVCL_2",)


def test_a_folder_with_another_name_needs_the_table_of_ids(read, tmp_path):
    folder = write_kb(tmp_path, "genes", GENES)
    with pytest.raises(SapbertError, match=r"E120.*identifier_mapping\.tsv\.gz"):
        read(folder)


def test_broken_rows_and_files(read, tmp_path):
    folder = write_kb(tmp_path, "ncbi_taxonomy", GENES)
    table = folder / "tables" / "kb.tsv.gz"
    packed = table.read_bytes()
    table.write_bytes(packed[:-12])
    with pytest.raises(SapbertError, match=r"E1\d\d.*kb\.tsv\.gz"):
        read(folder)
    text = gzip.decompress(packed)
    table.write_bytes(gzip.compress(text + b"-\t0\n"))
    assert read(folder)[1].broken == 1
    with pytest.raises(SapbertError, match=r"E127.*kb\.tsv\.gz, line 6: 2 cells instead of 5"):
        read(folder, strict=True)
    table.write_bytes(gzip.compress(text + b"-\t0\t4\tM\xfcller\t4\n"))
    with pytest.raises(SapbertError, match=r"E127.*kb\.tsv\.gz, line 6.*utf-8"):
        read(folder)
    table.write_bytes(gzip.compress(b"identifier\tname\n1\ta\n"))
    with pytest.raises(SapbertError, match=r"E128.*no column description"):
        read(folder)
