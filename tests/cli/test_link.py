import csv
import gzip
import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import spacy

from spacy_sapbert.errors import Errors, SapbertError
from spacy_sapbert.files.tables import write_sheet
from spacy_sapbert.pipeline.sapbert_linker import SapbertLinker

TEXT = "Cystic fibrosis (CF) and aspirin.\n\nNo zebra has breast and ovarian cancer.\n"
NEEDS_PYARROW = pytest.mark.skipif(not find_spec("pyarrow"), reason="pyarrow is not here")


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
    assert (first["id"], first["text"]) == ("notes.txt:1", "Cystic fibrosis (CF) and aspirin.")
    assert first["abbreviations"] == [{"start": 17, "end": 19, "text": "CF", "long_form": "Cystic fibrosis"}]
    assert [(one["start"], one["end"], one["snippet"]) for one in first["entities"]] == [
        (17, 19, "Cystic fibrosis ([CF]) and aspirin."),
        (25, 32, "Cystic fibrosis (CF) and [aspirin]."),
    ]
    assert ids(first) == ["D003550", "D001241"]
    assert first["entities"][1]["kb_ents"] == [{"id": "D001241", "score": 1.0, "preferred_name": "Aspirin"}]
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


def test_denied_findings_of_patients_need_the_assertion_detector(command, linking_folder, tmp_path):
    path = write(tmp_path / "notes.txt", "He denies asthma.")
    with pytest.warns(UserWarning, match=r"W513.*fhir.*assertion_detector"):
        assert command("link", linking_folder, path, "--to", "fhir").status == 0


@pytest.mark.parametrize("engine", [None, pytest.param("local", marks=NEEDS_PYARROW)])
def test_candidates_are_columns_on_request(command, linking_folder, tmp_path, engine):
    path = write(tmp_path / "a.txt", "No zebra has breast and ovarian cancer.")
    options = ["-o", tmp_path / "out", "--engine", engine] if engine else ["-o", tmp_path / "out.csv"]
    assert command("link", linking_folder, path, "--candidates", 2, *options).status == 0
    if engine:
        from pyarrow import parquet

        rows = parquet.read_table(next((tmp_path / "out").rglob("*.parquet"))).to_pylist()
    else:
        rows = list(csv.DictReader((tmp_path / "out.csv").open()))
    names = [name for name in rows[0] if name.startswith("candidate_")]
    assert names == [f"candidate_{n}_{field}" for n in (1, 2) for field in ("id", "name", "score", "probability")]
    zebra, breast, _ = rows
    assert (zebra["candidate_1_id"], zebra["candidate_1_name"]) == (zebra["rejected_id"], zebra["rejected_name"])
    assert breast["candidate_1_id"] == breast["concept_id"] == "D001943"
    assert breast["candidate_2_id"] == breast["runner_up_id"]
    (record,) = lines(command("link", linking_folder, path, "--candidates", 1))
    assert [len(link["candidates"]) for entity in record["entities"] for link in entity["links"]] == [1, 1, 1]


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


def test_names_of_a_table_with_a_header_are_linked_as_a_whole(command, linking_folder, tmp_path):
    path = write(tmp_path / "terms.csv", "code;term", "7;carcinoma of the breast", '8;"ovarian cancer"')
    columns = ("--column", "text=term", "--column", "id=code")
    records = lines(command("link", linking_folder, path, "--format", "names", *columns))
    assert [(record["id"], ids(record)) for record in records] == [("7", ["D001943"]), ("8", ["D010051"])]


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


def test_given_mentions_are_corrected_and_get_flags(command, linking_folder, small_kb, tmp_path):
    nlp = spacy.load(linking_folder)
    nlp.add_pipe("spelling_corrector", before="sapbert_linker", config={"kb": str(small_kb.path)})
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("assertion_detector")
    nlp.to_disk(tmp_path / "pipeline")
    text = "1|t|No brest cancer.\n1|a|Father had a cold.\n1\t3\t15\tbrest cancer\tDisease\tD001943\n"
    path = write(tmp_path / "corpus.pubtator", text + "1\t30\t34\tcold\tDisease\tD003139\n")
    (found,) = lines(command("link", tmp_path / "pipeline", path, "--gold"))
    links = [(entity["text"], entity["links"][0]["text"], entity["assertion"]) for entity in found["entities"]]
    assert links == [("brest cancer", "breast cancer", ["negated"]), ("cold", "cold", ["family"])]


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


def test_gold_offsets_that_do_not_fit_are_told_of(command, linking_folder, tmp_path):
    path = write(tmp_path / "corpus.pubtator", "1|t|No aspirin\n1|a|\n1\t2\t9\taspirin\tChemical\t-")
    finished = command("link", linking_folder, path, "--gold")
    assert [entity["text"] for record in lines(finished) for entity in record["entities"]] == ["aspirin"]
    assert "1 annotated mentions differ from the text at their offsets; 1 of them were moved" in finished.err


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
    assert f"{folder}: 1 files of no known format left out (e.png)" in finished.err
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


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        ("E128", ["a.csv"]),
        ("E533", ["a.csv", "--encoding", "latin-99"]),
        ("E509", ["folder"]),
        ("E128", ["a.csv", "--format", "names", "--column", "id=pmid"]),
        ("E128", ["a.csv", "--format", "names", "--column", "id=0"]),
        ("E128", ["a.txt", "--format", "names", "--column", "id=pmid"]),
        ("E125", ["a.csv", "--column", "body=abstract"]),
        ("E533", ["a.csv", "--column", "abstract"]),
        ("E504", ["a.txt", "b.txt"]),
        ("E124", ["a.txt", "b.doc"]),
        ("E124", ["-"]),
        ("E551", ["a.txt", "--output", "o.dat"]),
        ("E507", ["a.txt", "--output", "none/out.jsonl"]),
        ("E533", ["a.txt", "--to", "parquet"]),
        ("E533", ["a.txt", "--gold"]),
    ],
)
def test_wrong_arguments_are_told_before_the_pipeline_is_loaded(command, tmp_path, monkeypatch, code, arguments):
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    write(Path("a.csv"), "pmid,abstract", "1,aspirin")
    for name in ("a.txt", "b.doc"):
        write(Path(name), "aspirin")
    finished = command("link", "no pipeline", *arguments)
    assert (finished.status, finished.out) == (1, b"")
    assert finished.err.startswith(f"[{code}] ")
    assert sorted(os.listdir()) == ["a.csv", "a.txt", "b.doc", "folder"]


LINK_FILES = Path(__file__).parents[2] / "docs" / "outputs.md"


def test_the_commands_on_linking_files_run(command, linking_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("PIPELINE").symlink_to(linking_folder)
    Path("notes").mkdir()
    for name in ("notes/a.txt", "note.txt", "titles.txt"):
        write(Path(name), "aspirin")
    write(Path("names.tsv"), "x\taspirin")
    write(Path("terms.csv"), "term,diagnosis", "aspirin,aspirin")
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
    assert len(commands) == 15
    title = "<ArticleTitle>aspirin</ArticleTitle>"
    citation = f"<MedlineCitation><PMID>{{}}</PMID><Article>{title}</Article></MedlineCitation>"
    for folder, articles in (("baseline", [1]), ("updatefiles", [])):
        found = "".join(f"<PubmedArticle>{citation.format(pmid)}</PubmedArticle>" for pmid in articles)
        Path(folder).mkdir()
        write(Path(folder, "1.xml"), f"<PubmedArticleSet>{found}</PubmedArticleSet>")
    article = '<article><front><article-meta><article-id pub-id-type="pmc">1</article-id>'
    article += "<title-group><article-title>aspirin</article-title></title-group></article-meta></front></article>"
    Path("oa_comm_xml").mkdir()
    write(Path("oa_comm_xml", "1.nxml"), article)
    for line in commands:
        if "parquet" in line:
            parquet = pytest.importorskip("pyarrow.parquet")
            table = pytest.importorskip("pyarrow").table({"pmid": [1], "abstract": ["aspirin"]})
            parquet.write_table(table, "notes.parquet")
        if "xlsx" in line:
            if find_spec("openpyxl") is None:
                continue
            write_sheet([["pmid", "abstract"], [1, "aspirin"]], Path("notes.xlsx"))
        finished = command(*line.split())
        assert finished.status == 0, finished.err
        (record,) = lines(finished) or map(json.loads, Path("links.jsonl").read_text().splitlines())
        assert ids(record) == ["D001241"], line


def test_the_output_file_tells_the_format(command, linking_folder, tmp_path):
    path = write(tmp_path / "a.txt", "aspirin")
    names = ("o.html", "o.tsv", "o.csv", "o.pubtator", "o.jsonl", "o.xml", "o.bioc.json")
    for name in names:
        finished = command("link", linking_folder, path, "--output", tmp_path / name)
        assert finished.out == b""
    beginnings = [(tmp_path / name).read_text()[:6] for name in names]
    assert beginnings == ["<!DOCT", "doc_id", "doc_id", "a.txt|", '{"id":', "<?xml ", '{"sour']
    assert command("link", linking_folder, path, "--output", tmp_path / "o.dat", "--to", "csv").status == 0
    assert (tmp_path / "o.dat").read_text().startswith("doc_id,start")


# --- what is broken


def test_broken_records_are_reported_and_the_rest_goes_on(command, linking_folder, tmp_path):
    broken = {
        b"{bad": "this is not JSON",
        b'{"id": "x"}': "there is no key 'text'",
        b'{"text": " "}': "the text is empty",
    }
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "aspirin"}\n' + b"\n".join(broken) + b'\n{"text": "zebra"}\n')
    finished = command("link", linking_folder, path)
    assert finished.status == 0
    assert [record["text"] for record in lines(finished)] == ["aspirin", "zebra"]
    *reports, last = finished.err.splitlines()
    for number, (line, reason) in enumerate(zip(reports, broken.values(), strict=True), start=2):
        assert line.startswith(f"{path}, line {number}: {reason}")
    assert last.endswith("3 broken records left out")


def test_an_input_without_documents(command, linking_folder, tmp_path):
    table = write(tmp_path / "a.csv", "id,text")
    for arguments in ([table], ["-", "--format", "jsonl"]):
        finished = command("link", linking_folder, *arguments)
        assert (finished.status, finished.out) == (0, b"")


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


def test_what_the_user_can_mend_ends_the_run(command, linking_folder, tmp_path, monkeypatch):
    def fail(self, docs):
        raise SapbertError(Errors.E111.format(name="x", license="y", instead="z"))

    monkeypatch.setattr(SapbertLinker, "predict", fail)
    finished = command("link", linking_folder, write(tmp_path / "a.txt", "aspirin", "CF"))
    assert (finished.status, finished.out) == (1, b"")
    assert finished.err.startswith("[E111] ")


# --- wrong arguments


@pytest.mark.parametrize(("pipeline", "code"), [("none", "E501"), ("notes", "E502"), ("blank", "E503")])
def test_what_is_not_a_linking_pipeline(command, tmp_path, pipeline, code):
    (tmp_path / "notes").mkdir()
    spacy.blank("en").to_disk(tmp_path / "blank")
    finished = command("link", tmp_path / pipeline, write(tmp_path / "a.txt", "aspirin"))
    assert (finished.status, finished.err[:7]) == (1, f"[{code}] ")


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
    path = write(tmp_path / "a.txt", "aspirin " * 1_000)
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
