import csv
import gzip
import json
import os
import re
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

import pytest
import spacy
from spacy.language import Language

from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.errors import Errors, SapbertError
from spacy_sapbert.pipeline.sapbert_linker import SapbertLinker

TEXT = "Cystic fibrosis (CF) and aspirin.\n\nNo zebra has breast and ovarian cancer.\n"


def lines(finished):
    return [json.loads(line) for line in finished.out.decode().splitlines()]


def write(path, *records):
    path.write_bytes(b"".join(record.encode() + b"\n" for record in records))
    return path


def ids(record):
    return [entity["kb_id"] for entity in record["entities"]]


# --- inputs


def test_every_line_of_text_is_a_document(command, linking_folder, tmp_path):
    path = write(tmp_path / "notes.txt", TEXT)
    finished = command("link", linking_folder, path, "--format", "lines")
    first, second = lines(finished)
    assert first == {
        "id": "notes.txt:1",
        "text": "Cystic fibrosis (CF) and aspirin.",
        "entities": [
            {
                "start": 17,
                "end": 19,
                "text": "CF",
                "label": "Entity",
                "snippet": "Cystic fibrosis ([CF]) and aspirin.",
                "assertion": [],
                "kb_id": "D003550",
                "kb_ents": first["entities"][0]["kb_ents"],
                "links": first["entities"][0]["links"],
            },
            {
                "start": 25,
                "end": 32,
                "text": "aspirin",
                "label": "Entity",
                "snippet": "Cystic fibrosis (CF) and [aspirin].",
                "assertion": [],
                "kb_id": "D001241",
                "kb_ents": [{"id": "D001241", "score": 1.0, "preferred_name": "Aspirin"}],
                "links": [
                    {
                        "text": "aspirin",
                        "concept_id": "D001241",
                        "name": "Aspirin",
                        "preferred_name": "Aspirin",
                        "types": ["Chemical", "Drug"],
                        "score": 1.0,
                        "probability": None,
                        "long_form": None,
                        "split": False,
                        "reason": None,
                        "tie": None,
                        "reasons": [],
                        "runner_up": first["entities"][1]["links"][0]["runner_up"],
                        "rejected": None,
                    }
                ],
            },
        ],
        "abbreviations": [{"start": 17, "end": 19, "text": "CF", "long_form": "Cystic fibrosis"}],
    }
    assert first["entities"][0]["kb_ents"][0]["id"] == "D003550"
    assert second["id"] == "notes.txt:3"
    assert ids(second) == ["NIL", "D001943|D010051"]
    assert [link["split"] for link in second["entities"][1]["links"]] == [True, True]
    zebra = second["entities"][0]["links"][0]
    assert zebra["reason"]
    assert zebra["rejected"]["score"] == zebra["score"]
    assert zebra["rejected"]["preferred_name"]
    assert finished.status == 0
    assert finished.err == "2 documents, 4 mentions, 3 of them linked; 0 broken records left out\n"


def test_standard_input_and_gzipped_files_in_one_run(command, linking_folder, tmp_path):
    packed = tmp_path / "a.txt.gz"
    packed.write_bytes(gzip.compress(b"aspirin one"))
    finished = command("link", linking_folder, packed, "-", "--format", "lines", stdin=b"aspirin two\r\n")
    assert [(record["id"], record["text"]) for record in lines(finished)] == [
        ("a.txt.gz:1", "aspirin one"),
        ("stdin:1", "aspirin two"),
    ]


def test_standard_input_is_one_text_or_a_table(command, linking_folder):
    (record,) = lines(command("link", linking_folder, "-", "--format", "text", stdin=b"aspirin\nCF"))
    assert (record["id"], record["text"], ids(record)) == ("stdin", "aspirin\nCF", ["D001241", "D003550"])
    (record,) = lines(command("link", linking_folder, "-", "--format", "csv", stdin=b"text\naspirin"))
    assert (record["id"], ids(record)) == ("stdin:2", ["D001241"])


def test_jsonl_keeps_ids_titles_and_other_keys(command, linking_folder, tmp_path):
    path = write(
        tmp_path / "a.jsonl",
        '{"id": 7, "title": "On aspirin", "text": "Good for CF.", "pmid": "12", "tags": ["é", null]}',
        '{"body": "unused", "text": "aspirin", "title": null}',
    )
    first, second = lines(command("link", linking_folder, path))
    assert (first["id"], first["text"]) == ("7", "On aspirin Good for CF.")
    assert [(entity["start"], entity["end"]) for entity in first["entities"]] == [(3, 10), (20, 22)]
    assert first["meta"] == {"title": "On aspirin", "pmid": "12", "tags": ["é", None]}
    assert (second["id"], second["text"]) == ("a.jsonl:2", "aspirin")


def test_jsonl_keys_can_be_named(command, linking_folder, tmp_path):
    path = write(tmp_path / "a.jsonl", '{"pmid": "9", "title": "aspirin"}')
    (record,) = lines(command("link", linking_folder, path, "--column", "text=title", "--column", "id=pmid"))
    assert (record["id"], record["text"], "meta" in record) == ("9", "aspirin", False)


def test_names_are_linked_as_a_whole(command, linking_folder, tmp_path):
    path = write(
        tmp_path / "names.tsv",
        "ovarian cancer\tx",
        "carcinoma of the breast\ty",
        "no such thing at all\tz",
        "breast and ovarian cancer",
    )
    records = lines(command("link", linking_folder, path, "--format", "names"))
    assert [ids(record) for record in records] == [["D010051"], ["D001943"], ["NIL"], ["D001943|D010051"]]
    assert [record["entities"][0]["text"] for record in records] == [record["text"] for record in records]


def test_column_of_the_names(command, linking_folder, tmp_path):
    path = write(tmp_path / "names.tsv", "x\tmucoviscidosis", "y\t ", "z")
    finished = command("link", linking_folder, path, "--format", "names", "--column", "text=2")
    assert [ids(record) for record in lines(finished)] == [["D003550"]]
    assert "names.tsv, line 2: no name in column 2; left out" in finished.err
    assert "names.tsv, line 3: no name in column 2; left out" in finished.err


PUBTATOR = (
    "11|t|On breast cancer\n11|a|CF patients get aspirin.\n11\t3\t16\tbreast cancer\tDisease\tD009369\n"
    "11\t17\t28\tCF patients\tDisease\t-1\n11\t17\t19\tCF\tDisease\tD003550\n11\t33\t39\taspiri\tChemical\t-\n\n"
    "12|t|Aspirin\n"
)


def test_annotations_of_pubtator_are_not_used(command, linking_folder, tmp_path):
    path = write(tmp_path / "corpus.txt", PUBTATOR)  # often named so: seen from its first line
    first, second = lines(command("link", linking_folder, path))
    assert (first["id"], first["text"]) == ("11", "On breast cancer CF patients get aspirin.")
    assert [entity["text"] for entity in first["entities"]] == ["breast cancer", "CF patients", "aspirin"]
    assert (second["id"], second["text"]) == ("12", "Aspirin")


def test_gold_mentions_are_linked_also_where_they_overlap_or_cut_a_token(command, linking_folder, tmp_path):
    path = write(tmp_path / "corpus.pubtator", PUBTATOR)
    first, second = lines(command("link", linking_folder, path, "--gold"))
    found = [(entity["start"], entity["text"], entity["label"]) for entity in first["entities"]]
    assert found == [
        (3, "breast cancer", "Disease"),
        (17, "CF", "Disease"),
        (17, "CF patients", "Disease"),
        (33, "aspiri", "Chemical"),
    ]
    assert ids(first)[:2] == ["D001943", "D003550"]
    assert second["entities"] == []


def test_the_spelling_of_gold_mentions_is_corrected(command, linking_folder, small_kb, tmp_path):
    nlp = spacy.load(linking_folder)
    nlp.add_pipe("spelling_corrector", before="sapbert_linker", config={"kb": str(small_kb.path)})
    nlp.to_disk(tmp_path / "pipeline")
    text = "1|t|A brest cancer\n1|a|.\n1\t2\t14\tbrest cancer\tDisease\tD001943\n\n"
    path = write(tmp_path / "corpus.pubtator", text)
    (found,) = lines(command("link", tmp_path / "pipeline", path, "--gold"))
    assert [(entity["text"], entity["links"][0]["text"]) for entity in found["entities"]] == [
        ("brest cancer", "breast cancer")
    ]


def test_gold_mentions_have_flags(command, linking_folder, tmp_path):
    pytest.importorskip("negspacy")
    nlp = spacy.load(linking_folder)
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("assertion_detector")
    nlp.to_disk(tmp_path / "flagging")
    text = "1|t|No cystic fibrosis.\n1|a|Father had a cold.\n1\t3\t18\tcystic fibrosis\tDisease\tD003550\n"
    (tmp_path / "a.pubtator").write_text(text + "1\t33\t37\tcold\tDisease\tD003139\n")
    finished = command("link", tmp_path / "flagging", tmp_path / "a.pubtator", "--gold")
    (record,) = lines(finished)
    assert [entity["assertion"] for entity in record["entities"]] == [["negated"], ["family"]]


@pytest.fixture
def foreign(linking_folder, tmp_path):
    """A pipeline that takes cystic fibrosis for a gene, and aspirin for another species."""
    nlp = spacy.load(linking_folder)
    organisms = ["NCBITaxon:9606", "D001241"]
    labels = {"gene_labels": ["Disease"], "species_labels": ["Chemical"]}
    nlp.add_pipe("gene_species", config={**labels, "organisms": organisms})
    nlp.to_disk(tmp_path / "foreign")
    text = "1|t|Aspirin or cystic fibrosis\n1|a|.\n1\t0\t7\tAspirin\tChemical\tD001241\n"
    path = write(tmp_path / "corpus.pubtator", text + "1\t11\t26\tcystic fibrosis\tDisease\tD003550\n")
    return str(tmp_path / "foreign"), path


@pytest.mark.parametrize("format", ["jsonl", "tsv", "csv", "html", "bioc", "biocjson"])
def test_the_reason_of_a_gene_of_another_species_is_in_every_output(command, foreign, format):
    finished = command("link", *foreign, "--gold", "--to", format)
    assert not finished.status, finished.err
    out = finished.out.decode()
    assert re.search("a gene of another species, D001241, as .{1,6}Aspirin.{1,6} shows", out)


def test_a_gene_of_another_species_has_no_id_in_pubtator(command, foreign):
    rows = command("link", *foreign, "--gold", "--to", "pubtator").out.decode().splitlines()
    assert [row.split("\t")[3:] for row in rows if "\t" in row] == [
        ["Aspirin", "Chemical", "D001241"],
        ["cystic fibrosis", "Disease", "-"],
    ]


def test_gold_offsets_that_do_not_fit_are_told_of(command, linking_folder, tmp_path):
    path = write(tmp_path / "corpus.pubtator", "1|t|No aspirin\n1|a|\n1\t2\t9\taspirin\tChemical\t-")
    finished = command("link", linking_folder, path, "--gold")
    assert [entity["text"] for record in lines(finished) for entity in record["entities"]] == ["aspirin"]
    assert "1 annotated mentions differ from the text at their offsets; 1 of them were moved" in finished.err


def test_gold_wants_annotated_mentions(command, linking_folder, tmp_path):
    finished = command("link", linking_folder, write(tmp_path / "a.txt", "aspirin"), "--gold")
    assert finished.status == 1
    assert "a.txt has the format text" in finished.err
    assert "pubtator, bioc, spacy" in finished.err


def test_a_folder_of_several_formats(command, linking_folder, tmp_path):
    folder = tmp_path / "notes"
    (folder / "sub").mkdir(parents=True)
    write(folder / "sub" / "a.txt", "aspirin", "and CF")
    write(folder / "b.csv", "id,text", "7,aspirin")
    write(folder / "c.pubtator", "8|t|aspirin", "8|a|")
    write(folder / "d.csv", "body", "aspirin")
    (folder / "e.png").write_bytes(b"\x89PNG")
    finished = command("link", linking_folder, folder)
    assert [(record["id"], ids(record)) for record in lines(finished)] == [
        ("7", ["D001241"]),
        ("8", ["D001241"]),
        ("sub/a.txt", ["D001241", "D003550"]),
    ]
    assert f"{folder}/d.csv: [E128] " in finished.err
    assert f"{folder}: 1 files of no known format left out (1 .png)" in finished.err
    assert "3 documents, 4 mentions, 4 of them linked; 1 broken records left out" in finished.err


def test_annotated_mentions_of_all_formats_are_the_same(command, linking_folder, tmp_path):
    corpus = write(tmp_path / "corpus.pubtator", PUBTATOR)
    stored = tmp_path / "corpus.spacy"
    assert command("convert", corpus, "-o", stored).status == 0
    expected = lines(command("link", linking_folder, corpus, "--gold"))
    found = lines(command("link", linking_folder, stored, "--gold"))
    assert [(record["id"], record["entities"]) for record in found] == [
        (record["id"], record["entities"]) for record in expected
    ]


def test_what_cannot_be_read_is_told_before_the_pipeline_is_loaded(command, tmp_path):
    table = write(tmp_path / "a.csv", "pmid,abstract", "1,aspirin")
    for code, *arguments in [
        ("E128", table),
        ("E533", table, "--encoding", "latin-99"),
        ("E509", tmp_path / "folder"),
        ("E533", table, "--format", "names", "--column", "text=abstract"),
        ("E533", table, "--format", "names", "--column", "id=0"),
        ("E125", table, "--column", "body=abstract"),
        ("E533", table, "--column", "abstract"),
    ]:
        (tmp_path / "folder").mkdir(exist_ok=True)
        finished = command("link", tmp_path / "no pipeline", *arguments)
        assert (finished.status, finished.out) == (1, b"")
        assert finished.err.startswith(f"[{code}] ")


def test_a_header_without_rows_has_no_documents(command, linking_folder, tmp_path):
    finished = command("link", linking_folder, write(tmp_path / "a.csv", "id,text"))
    assert (finished.status, finished.out) == (0, b"")


LINK_FILES = Path(__file__).parents[2] / "docs" / "linking.md"


def test_the_commands_on_linking_files_run(command, linking_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("PIPELINE").symlink_to(linking_folder)
    Path("notes").mkdir()
    for name in ("notes/a.txt", "note.txt", "titles.txt"):
        write(Path(name), "aspirin")
    write(Path("names.tsv"), "x\taspirin")
    write(Path("notes.csv"), "pmid,abstract", '1,"aspirin"')
    write(Path("notes.tsv"), "pmid\tabstract", "1\taspirin")
    write(Path("notes.jsonl"), '{"abstract": "aspirin"}')
    write(Path("corpus.pubtator"), "1|t|aspirin\n1|a|\n1\t0\t7\taspirin\tDrug\t-1")
    annotation = '<annotation id="1"><location offset="0" length="7"/><text>aspirin</text></annotation>'
    passage = f"<passage><offset>0</offset><text>aspirin</text>{annotation}</passage>"
    write(Path("corpus.xml"), f"<collection><document><id>1</id>{passage}</document></collection>")
    assert command("convert", "corpus.pubtator", "-o", "corpus.spacy").status == 0
    section = LINK_FILES.read_text(encoding="utf8").split("## Link files\n")[1].split("\n## ")[0]
    commands = re.findall(r"`spacy-sapbert (link .*?)`", section)
    assert len(commands) == 13
    title = "<ArticleTitle>aspirin</ArticleTitle>"
    citation = f"<MedlineCitation><PMID>{{}}</PMID><Article>{title}</Article></MedlineCitation>"
    for folder, articles in (("baseline", [1]), ("updatefiles", [])):
        found = "".join(f"<PubmedArticle>{citation.format(pmid)}</PubmedArticle>" for pmid in articles)
        Path(folder).mkdir()
        write(Path(folder, "1.xml"), f"<PubmedArticleSet>{found}</PubmedArticleSet>")
    article = '<article><front><article-meta><article-id pub-id-type="pmc">1</article-id>'
    article += "<title-group><article-title>aspirin</article-title></title-group></article-meta></front></article>"
    write(Path("1.nxml"), article)
    with tarfile.open("oa_comm_xml.tar.gz", "w:gz") as archive:
        archive.add("1.nxml")
    for line in commands:
        if "parquet" in line:
            parquet = pytest.importorskip("pyarrow.parquet")
            table = pytest.importorskip("pyarrow").table({"pmid": [1], "abstract": ["aspirin"]})
            parquet.write_table(table, "notes.parquet")
        finished = command(*line.split())
        assert finished.status == 0, finished.err
        (record,) = lines(finished) or map(json.loads, Path("links.jsonl").read_text().splitlines())
        assert ids(record) == ["D001241"], line


# --- outputs


def test_pubtator_output_is_read_back_with_the_same_offsets_and_ids(command, linking_folder, tmp_path):
    text = json.dumps({"id": "a|1\t", "title": "On\taspirin\n", "text": "breast and\novarian cancer\u2028, CF|x"})
    path = write(tmp_path / "a.jsonl", text, '{"id": "2", "text": "No title, aspirin"}')
    output = tmp_path / "out.pubtator"
    expected = lines(command("link", linking_folder, path))
    command("link", linking_folder, path, "--output", output)
    assert output.read_text(encoding="utf8").startswith("a%7C1%09|t|On aspirin \na%7C1%09|a|breast and ovarian")
    documents = list(read_corpus(output, "pubtator", strict=True))
    assert [document.doc_id for document in documents] == ["a|1\t", "2"]
    assert [document.text for document in documents] == [
        "On aspirin  breast and ovarian cancer , CF|x",
        "No title, aspirin",
    ]
    for document, record in zip(documents, expected, strict=True):
        found = [(mention.start, mention.end, mention.label) for mention in document.mentions]
        assert found == [(entity["start"], entity["end"], entity["label"]) for entity in record["entities"]]
        links = [[link["concept_id"] for link in entity["links"]] for entity in record["entities"]]
        assert [list(mention.ids) for mention in document.mentions] == links


def test_pubtator_input_and_output_have_the_same_titles_and_abstracts(command, linking_folder, tmp_path):
    path = write(tmp_path / "a.pubtator", "1|t|On aspirin\n1|a|No zebra\n\n2|t|\n2|a|CF\n")
    out = command("link", linking_folder, path, "--to", "pubtator").out.decode()
    assert out.startswith(
        "1|t|On aspirin\n1|a|No zebra\n1\t3\t10\taspirin\tEntity\tD001241\n1\t14\t19\tzebra\tEntity\t-\n\n"
    )
    assert [document.text for document in read_corpus(write(tmp_path / "b.pubtator", out))] == [
        "On aspirin No zebra",
        " CF",
    ]


def test_tsv_has_a_row_for_each_link(command, linking_folder, tmp_path):
    path = write(
        tmp_path / "a.jsonl", '{"id": "x", "text": "breast and\\tovarian cancer or breast and ovarian cancer"}'
    )
    header, *rows = command("link", linking_folder, path, "--to", "tsv").out.decode().splitlines()
    found = [dict(zip(header.split("\t"), row.split("\t"), strict=True)) for row in rows]
    shared = {
        "doc_id": "x",
        "start": "29",
        "end": "54",
        "text": "breast and ovarian cancer",
        "label": "Entity",
        "snippet": "breast and ovarian cancer or [breast and ovarian cancer]",
        "types": "Disease",
        "score": "1.0",
        "probability": "",
        "long_form": "",
        "split": "true",
        "reason": "",
        "tie": "",
        "reasons": "",
        "rejected_id": "",
        "rejected_name": "",
        "rejected_score": "",
    }
    parts = [
        ("breast cancer", "D001943", "Breast Neoplasms", "29 35;48 54"),
        ("ovarian cancer", "D010051", "Ovarian Neoplasms", "40 54"),
    ]
    for row, (part, concept_id, name, offsets) in zip(found, parts, strict=True):
        own = {"linked_text": part, "matched_name": part, "concept_id": concept_id, "preferred_name": name}
        assert {**row, **shared, **own, "offsets": offsets} == row
        assert float(row["runner_up_score"]) < 1
        assert row["runner_up_id"]
        assert row["runner_up_name"]


def test_tsv_says_how_a_tie_was_decided(command, linking_folder, tmp_path):
    path = write(tmp_path / "names.tsv", "Seizures")
    header, row = command("link", linking_folder, path, "--format", "names", "--to", "tsv").out.decode().splitlines()
    found = dict(zip(header.split("\t"), row.split("\t"), strict=True))
    assert found["concept_id"] == "D012640"
    assert found["tie"] == "same score as HP:0001250; chosen because this is its preferred name"


def test_the_output_file_tells_the_format(command, linking_folder, tmp_path):
    path = write(tmp_path / "a.txt", "aspirin")
    names = ("o.html", "o.tsv", "o.csv", "o.pubtator", "o.jsonl", "o.xml", "o.bioc.json")
    for name in names:
        finished = command("link", linking_folder, path, "--output", tmp_path / name)
        assert finished.out == b""
    beginnings = [(tmp_path / name).read_text()[:6] for name in names]
    assert beginnings == ["<!DOCT", "doc_id", "doc_id", "a.txt|", '{"id":', "<?xml ", '{"sour']


def test_an_unknown_ending_is_an_error_before_anything_is_linked(command, linking_folder, tmp_path):
    path = write(tmp_path / "a.txt", "aspirin")
    finished = command("link", linking_folder, path, "--output", tmp_path / "o.dat")
    assert (finished.status, os.listdir(tmp_path)) == (1, ["a.txt"])
    assert finished.err.startswith("[E551] ")
    assert command("link", linking_folder, path, "--output", tmp_path / "o.dat", "--to", "csv").status == 0
    assert (tmp_path / "o.dat").read_text().startswith("doc_id,start")


OVERLAPPING = (
    "1|t|Breast and ovarian cancer in CF patients\n1|a|\n1\t0\t25\tBreast and ovarian cancer\tDisease\tD001943\n"
    "1\t11\t25\tovarian cancer\tDisease\tD010051\n1\t29\t40\tCF patients\tGroup\t-\n1\t29\t31\tCF\tDisease\tD003550\n"
)


@pytest.mark.parametrize("format", ["jsonl", "tsv", "csv", "parquet", "pubtator", "bioc", "biocjson", "html"])
def test_overlapping_mentions_of_a_span_group_are_in_every_output(format, command, linking_folder, tmp_path):
    if format == "parquet":
        pytest.importorskip("pyarrow")
    path = write(tmp_path / "a.pubtator", OVERLAPPING)
    output = tmp_path / "out"
    finished = command("link", linking_folder, path, "--gold", "--to", format, "--output", output)
    assert finished.status == 0
    expected = {(0, 25), (11, 25), (29, 31), (29, 40)}
    if format in ("pubtator", "bioc"):
        (document,) = read_corpus(output, format, strict=True)
        assert {(mention.start, mention.end) for mention in document.mentions} == expected
    elif format == "html":
        page = output.read_text()
        assert page.count('<a class="mention') == 4 + 5  # in the text and below it; in the table, one per part
        assert "Inside other mentions: " in page
    elif format == "jsonl":
        assert {(one["start"], one["end"]) for one in json.loads(output.read_text())["entities"]} == expected
    elif format == "biocjson":
        (passage,) = json.loads(output.read_text())["documents"][0]["passages"]
        places = [one["locations"][0] for one in passage["annotations"]]
        assert {(one["offset"], one["offset"] + one["length"]) for one in places} == expected
    elif format == "parquet":
        from pyarrow.parquet import read_table

        rows = read_table(output).to_pylist()
        assert {(row["start"], row["end"]) for row in rows} == expected
    else:
        rows = csv.DictReader(output.open(newline=""), delimiter="," if format == "csv" else "\t")
        assert {(int(row["start"]), int(row["end"])) for row in rows} == expected


def test_a_gzipped_output_is_the_same_each_time(command, linking_folder, tmp_path):
    path = write(tmp_path / "a.txt", "aspirin")
    outputs = [tmp_path / "one.jsonl.gz", tmp_path / "two.jsonl.gz"]
    for output in outputs:
        command("link", linking_folder, path, "--output", output)
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    assert json.loads(gzip.decompress(outputs[0].read_bytes()))["text"] == "aspirin\n"


def test_html_page_of_the_command(command, linking_folder, tmp_path):
    path = write(tmp_path / "a.txt", "aspirin <b>", "zebra")
    page = command("link", linking_folder, path, "--format", "lines", "--to", "html").out.decode()
    assert page.startswith("<!DOCTYPE html>")
    assert page.endswith("</html>\n")
    assert 'Aspirin</bdi><small><a href="https://meshb.nlm.nih.gov/record/ui?ui=D001241">' in page
    assert "&lt;b&gt;" in page
    assert "<h2>a.txt:2</h2>" in page


# --- what is broken

BROKEN = {
    b"{bad": "this is not JSON",
    b"[1]": "this is not a JSON object",
    b'{"id": "x"}': "there is no key 'text'; the keys are: 'id'",
    b'{"text": 3}': "the value of 'text' is not a string",
    b'{"text": "x", "title": []}': "the value of 'title' is not a string",
    b'{"text": "x", "id": true}': "the value of 'id' must be a string or a whole number",
    b'{"text": "aspirin \\ud800"}': "this is not JSON in Unicode",
    b'{"text": "x", "note": "\\udc00"}': "this is not JSON in Unicode",
    b'{"text": "x", "n": NaN}': "this is not JSON in Unicode",
    b'{"text": "a\\u0000b"}': "the text contains a NUL character",
    b'{"text": " \\n"}': "the text is empty",
    b'{"text": "\xff"}': "this is not utf-8",
    b"[" * 100_000: "this is not JSON",
    b'{"text": "x", "n": ' + b"1" * 5000 + b"}": "this is not JSON",
}


def test_a_broken_offset_costs_its_row_only(command, linking_folder, tmp_path):
    record = "1|t|CF\n1\t\x1c0\t2\tCF\tDisease\tD003550\n2|t|aspirin\n2\t0\t7\taspirin\tChemical\tD001241\n"
    path = tmp_path / "a.pubtator"
    path.write_bytes(record.encode())
    finished = command("link", linking_folder, path, "--gold")
    assert finished.status == 0
    assert [record["id"] for record in lines(finished)] == ["1", "2"]
    assert f"{path}, line 2: offsets '\\x1c0' and '2' are not both whole numbers; left out" in finished.err
    assert "1 broken record" in finished.err


def test_broken_records_are_told_of_and_the_rest_goes_on(command, linking_folder, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "aspirin"}\n' + b"\n".join(BROKEN) + b'\n{"text": "zebra"}\n')
    finished = command("link", linking_folder, path)
    assert finished.status == 0
    assert [record["text"] for record in lines(finished)] == ["aspirin", "zebra"]
    told = finished.err.splitlines()
    for number, (line, reason) in enumerate(zip(told, BROKEN.values(), strict=False), start=2):
        assert line.startswith(f"{path}, line {number}: {reason}")
    assert told[-1].endswith(f"{len(BROKEN)} broken records left out")
    assert len(told) == len(BROKEN) + 1


@pytest.mark.parametrize("record", [b"{bad", b'{"text": "\xff"}', b'{"text": ""}'])
def test_strict_stops_and_writes_nothing(record, command, linking_folder, tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "aspirin"}\n' + record)
    output = tmp_path / "out.jsonl"
    output.write_text("before")
    finished = command("link", linking_folder, path, "--strict", "--output", output)
    assert finished.status == 1
    assert finished.err.startswith("[E127] ")
    assert "line 2" in finished.err
    assert output.read_text() == "before"
    assert sorted(os.listdir(tmp_path)) == ["a.jsonl", "out.jsonl"]


def test_strict_keeps_the_parts_before_a_broken_record(command, linking_folder, tmp_path, monkeypatch):
    monkeypatch.setattr("spacy_sapbert.runs.document_linker.DOCUMENTS_PER_BATCH", 1)
    path, output = tmp_path / "a.jsonl", tmp_path / "out.jsonl"
    path.write_bytes(b'{"text": "aspirin"}\n' * 3 + b"{bad")
    options = ("--strict", "--output", output)
    stopped = command("link", linking_folder, path, *options)
    assert (stopped.status, output.exists()) == (1, False)
    assert "2 finished documents are kept" in stopped.err
    path.write_bytes(b'{"text": "aspirin"}\n' * 3 + b'{"text": "corrected"}\n')
    assert command("link", linking_folder, path, *options, "--resume").status == 0
    assert [json.loads(line)["text"] for line in output.read_text().splitlines()] == ["aspirin"] * 3 + ["corrected"]
    assert sorted(os.listdir(tmp_path)) == ["a.jsonl", "out.jsonl"]


def test_a_file_of_nothing_but_broken_records_is_an_error(command, linking_folder, tmp_path):
    finished = command("link", linking_folder, write(tmp_path / "a.jsonl", "plain", "text"))
    assert finished.status == 1
    assert "[E508]" in finished.err


def test_a_file_may_be_named_by_any_bytes(command, linking_folder, tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff.jsonl"
    with open(path, "wb") as handle:
        handle.write(b'{"text": "aspirin"}\n{bad\n')
    finished = command("link", linking_folder, os.fsdecode(path))
    assert lines(finished)[0]["id"] == "\ufffd.jsonl:1"
    assert "\ufffd.jsonl, line 2" in finished.err


def test_an_empty_input_is_none(command, linking_folder):
    finished = command("link", linking_folder, "-", "--format", "jsonl")
    assert (finished.status, finished.out) == (0, b"")


def test_broken_lines_of_pubtator(command, linking_folder, tmp_path):
    path = tmp_path / "a.pubtator"
    path.write_bytes(b"1|t|\xff\n\n2|t|aspirin\n2|a|\nnonsense\n\n3|t| \n")
    finished = command("link", linking_folder, path)
    assert [record["text"] for record in lines(finished)] == ["aspirin"]
    told = [line.partition(f"{path}, line ")[2].split(":")[0] for line in finished.err.splitlines()[:-1]]
    assert told == ["1", "5", "7"]


def test_a_text_of_a_million_characters(command, linking_folder, tmp_path):
    path = write(tmp_path / "a.txt", "some aspirin " + "word " * 210_000 + "some aspirin", "aspirin")
    finished = command("link", linking_folder, path, "--format", "lines", "--to", "tsv")
    rows = [row.split("\t")[:3] for row in finished.out.decode().splitlines()[1:]]
    assert rows == [["a.txt:1", "5", "12"], ["a.txt:1", "1050018", "1050025"], ["a.txt:2", "0", "7"]]


def test_the_limit_of_parser_and_ner_is_kept(command, small_kb, tmp_path):
    trained = spacy.blank("en")
    trained.add_pipe("ner").add_label("X")
    trained.initialize()
    nlp = spacy.blank("en")
    nlp.add_pipe("ner", source=trained)
    nlp.add_pipe("sapbert_linker", config={"kb": str(small_kb.path), "encoder": "none"})
    nlp.to_disk(tmp_path / "pipeline")
    path = write(tmp_path / "a.txt", "x" * 1_000_001, "aspirin")
    finished = command("link", tmp_path / "pipeline", path, "--format", "lines")
    assert [record["text"] for record in lines(finished)] == ["aspirin"]
    assert "line 1: the text has 1,000,001 characters" in finished.err


# --- a pipeline that fails


@pytest.fixture
def failing(monkeypatch):
    """Make the linker fail on every batch that holds an exclamation mark."""
    predict = SapbertLinker.predict

    def fail(self, docs):
        if any("!" in doc.text for doc in docs):
            raise RuntimeError("no exclamation")
        return predict(self, docs)

    monkeypatch.setattr(SapbertLinker, "predict", fail)


def test_the_others_of_a_failed_batch_are_linked(failing, command, linking_folder, tmp_path, monkeypatch):
    monkeypatch.setattr("spacy_sapbert.runs.document_linker.DOCUMENTS_PER_BATCH", 3)
    texts = ["aspirin 0", "!", "aspirin 2", "aspirin 3", "aspirin!", "aspirin 5", "!"]
    path = write(tmp_path / "a.txt", *texts)
    finished = command("link", linking_folder, path, "--format", "lines")
    links = [(record["text"], ids(record)) for record in lines(finished)]
    assert links == [(f"aspirin {i}", ["D001241"]) for i in (0, 2, 3, 5)]
    reports = [line for line in finished.err.splitlines() if "no exclamation" in line]
    assert [line.partition("line ")[2][0] for line in reports] == ["2", "5", "7"]
    assert "4 documents, 4 mentions, 4 of them linked; 3 broken records left out" in finished.err


def test_a_function_that_fails(command, linking_folder, tmp_path):
    @Language.component("fails_on_exclamation")
    def fails_on_exclamation(doc):
        if "!" in doc.text:
            raise KeyError("!")
        return doc

    nlp = spacy.load(linking_folder)
    nlp.add_pipe("fails_on_exclamation", first=True)
    nlp.to_disk(tmp_path / "pipeline")
    path = write(tmp_path / "a.txt", "aspirin", "!", "CF")
    finished = command("link", tmp_path / "pipeline", path, "--format", "lines")
    assert [record["text"] for record in lines(finished)] == ["aspirin", "CF"]
    assert "line 2: the pipeline fails on it" in finished.err


def test_what_the_user_can_mend_ends_the_run(command, linking_folder, tmp_path, monkeypatch):
    def fail(self, docs):
        raise SapbertError(Errors.E111.format(name="x", license="y", instead="z"))

    monkeypatch.setattr(SapbertLinker, "predict", fail)
    finished = command("link", linking_folder, write(tmp_path / "a.txt", "aspirin", "CF"))
    assert (finished.status, finished.out) == (1, b"")
    assert finished.err.startswith("[E111] ")


def test_processes_give_what_one_gives(command, dense_folder, tmp_path):
    path = write(tmp_path / "a.txt", *(f"aspirin {i} for breast and ovarian cancer" for i in range(50)), TEXT)
    one = command("link", dense_folder, path, "--format", "lines")
    two = command("link", dense_folder, path, "--format", "lines", "--n-process", 2)
    assert len(lines(one)) == 52
    assert one.out == two.out


def test_strict_with_processes_ends(command, linking_folder, tmp_path):
    records = [json.dumps({"text": f"aspirin {i} " + "x" * 4000}) for i in range(120)]
    path = write(tmp_path / "a.jsonl", *records, "{bad", *records)
    finished = command("link", linking_folder, path, "--strict", "--n-process", 2)
    assert finished.status == 1
    assert len(lines(finished)) == 120
    assert "line 121" in finished.err


# --- wrong arguments


def test_no_such_pipeline(command, tmp_path):
    path = write(tmp_path / "a.txt", "aspirin")
    finished = command("link", tmp_path / "none", path)
    assert finished.status == 1
    assert finished.err.startswith("[E501] ")


def test_a_folder_that_is_no_pipeline(command, tmp_path):
    finished = command("link", tmp_path, write(tmp_path / "a.txt", "aspirin"))
    assert finished.err.startswith("[E502] ")


def test_a_pipeline_that_does_not_link(command, tmp_path):
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.to_disk(tmp_path / "pipeline")
    finished = command("link", tmp_path / "pipeline", write(tmp_path / "a.txt", "aspirin"))
    assert finished.err.startswith("[E503] ")
    assert "sentencizer" in finished.err


def test_inputs_are_looked_at_before_any_is_read(command, linking_folder, tmp_path):
    path = write(tmp_path / "a.txt", "aspirin")
    missing = command("link", linking_folder, path, tmp_path / "b.txt")
    assert (missing.status, missing.out) == (1, b"")
    assert missing.err.startswith("[E504] ")
    unknown = command("link", linking_folder, path, write(tmp_path / "b.doc", "aspirin"))
    assert (unknown.status, unknown.out) == (1, b"")
    assert unknown.err.startswith("[E124] ")
    assert command("link", linking_folder, "-").err.startswith("[E124] ")


def test_an_output_that_cannot_be_written(command, linking_folder, tmp_path):
    path = write(tmp_path / "a.txt", "aspirin")
    finished = command("link", linking_folder, path, "--output", tmp_path / "none" / "out.jsonl")
    assert finished.status == 1
    assert finished.err.startswith("[E507] ")


def test_a_pipe_as_output_is_written_to_as_it_is(command, linking_folder, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    finished = command("link", linking_folder, write(tmp_path / "a.txt", "aspirin"), "--output", pipe)
    reader.join(timeout=10)
    assert finished.status == 0
    assert json.loads(read[0])["text"] == "aspirin\n"
    assert pipe.is_fifo()


@pytest.mark.slow
@pytest.mark.parametrize("n_process", ["1", "2"])
def test_a_reader_that_stops_ends_the_command_quietly(n_process, linking_folder, tmp_path):
    path = write(tmp_path / "a.txt", *(f"aspirin {i} " + "x " * 500 for i in range(2000)))
    arguments = ["link", linking_folder, path, "--format", "lines", "--n-process", n_process]
    main = "from spacy_sapbert.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", main, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert json.loads(process.stdout.readline())["id"] == "a.txt:1"
        process.stdout.close()
        assert process.stderr.read() == b""
        process.wait(timeout=60)


@pytest.mark.parametrize("arguments", [["link", "{pipeline}", "{text}"], ["kb", "info", "starter"], ["--help"]])
def test_a_full_disk_behind_standard_output(arguments, linking_folder, tmp_path):
    path = write(tmp_path / "a.txt", "aspirin " * 20_000)
    given = [argument.format(pipeline=linking_folder, text=path) for argument in arguments]
    with open("/dev/full", "w") as full:
        finished = subprocess.run(
            [sys.executable, "-m", "spacy_sapbert", *given], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert finished.returncode == 1
    assert "[E507] Cannot write standard output (No space left on device)." in finished.stderr
    assert "Traceback" not in finished.stderr
    assert "Exception ignored" not in finished.stderr


def test_an_output_that_is_an_input_is_refused(command, linking_folder, tmp_path):
    path = write(tmp_path / "a.jsonl", '{"text": "aspirin"}')
    (tmp_path / "link.jsonl").symlink_to(path)
    (tmp_path / "folder").mkdir()
    before = path.read_bytes()
    write(tmp_path / "folder" / "b.jsonl", '{"text": "aspirin"}')
    for inputs, output in [(path, path), (path, "link.jsonl"), (tmp_path / "folder", "folder/links.jsonl")]:
        finished = command("link", linking_folder, inputs, "-o", tmp_path / output)
        assert finished.status == 1
        assert finished.err.startswith("[E533] ")
    assert path.read_bytes() == before
    assert os.listdir(tmp_path / "folder") == ["b.jsonl"]
    assert command("discover", linking_folder, path, "-o", path).err.startswith("[E533] ")


def test_parquet_needs_a_file_before_anything_is_linked(command, tmp_path):
    finished = command("link", tmp_path / "no_pipeline", write(tmp_path / "a.txt", "aspirin"), "--to", "parquet")
    assert finished.status == 1
    assert finished.err.startswith("[E533] ")
