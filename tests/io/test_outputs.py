import io
import json
from pathlib import Path
from tempfile import NamedTemporaryFile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from spacy.tokens import Span

from spacy_sapbert.corpora.reader import read_corpus
from spacy_sapbert.io.documents import Problems, ReadOptions, read_documents
from spacy_sapbert.io.formats import InputFormat, OutputFormat
from spacy_sapbert.io.outputs import write_records
from spacy_sapbert.io.pipelines import LinkingPipeline
from spacy_sapbert.io.records import record_of
from spacy_sapbert.pipeline.attributes import set_concepts
from spacy_sapbert.types import DocumentConcept

# everything but surrogates, with more than its share of what ends lines and columns
ODD = st.text(
    st.one_of(st.sampled_from("\t\n\r\v\f\x1c\x85\u2028\u2029|<&\"'\\ aß字𝄞"), st.characters(exclude_categories=["Cs"]))
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("outputs")


@pytest.fixture(scope="module")
def linking(linking_folder):
    return LinkingPipeline(str(linking_folder), Problems(Console(file=io.StringIO())))


def linked(linking, folder, records):
    path = folder / "in.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return list(linking(read_documents(path, ReadOptions(InputFormat.jsonl), linking.problems)))


def written(linking, items, format):
    with NamedTemporaryFile() as file:
        records = (json.loads(json.dumps(record_of(item, linking.kb))) for item in items)
        write_records(records, OutputFormat(format), Path(file.name), linking.kb)
        return Path(file.name).read_bytes().decode()


def is_text(text):
    return bool(text.strip()) and "\0" not in text


@settings(deadline=None)
@given(texts=st.lists(ODD), title=ODD)
def test_jsonl_gives_back_any_text(folder, linking, texts, title):
    records = [{"id": f"{i}{title}", "title": title, "text": text + " aspirin"} for i, text in enumerate(texts)]
    items = linked(linking, folder, records)
    out = written(linking, items, "jsonl")
    assert len(out.splitlines()) == len(items)
    kept = [record for record in records if is_text(record["title"] + record["text"])]
    for line, record in zip(out.splitlines(), kept, strict=True):
        found = json.loads(line)
        assert found["id"] == record["id"]
        assert found["text"] == " ".join(part for part in (title, record["text"]) if part)
        assert found["meta"] == {"title": title}
        for entity in found["entities"]:
            assert found["text"][entity["start"] : entity["end"]] == entity["text"]


def test_jsonl_tells_the_concepts_of_the_document_where_there_are_any(linking, folder):
    with_concepts, without = linked(linking, folder, [{"id": "1", "text": "aspirin"}, {"id": "2", "text": "aspirin"}])
    evidence = (with_concepts.doc[:1],)
    set_concepts(with_concepts.doc, [DocumentConcept("D001241", 0.5, "Aspirin", evidence, (("prior", 1.5),))])
    told, other = map(json.loads, written(linking, [with_concepts, without], "jsonl").splitlines())
    assert told["concepts"] == [
        {
            "id": "D001241",
            "score": 0.5,
            "name": "Aspirin",
            "evidence": [{"start": 0, "end": 7, "text": "aspirin"}],
            "contributions": {"prior": 1.5},
        }
    ]
    assert "concepts" not in other


@settings(deadline=None)
@given(title=ODD, text=ODD, doc_id=ODD, label=ODD)
def test_pubtator_keeps_offsets_and_ids_in_any_text(folder, linking, title, text, doc_id, label):
    items = linked(linking, folder, [{"id": "x" + doc_id, "title": title, "text": text + " aspirin"}])
    for item in items:
        word = next(token.i for token in item.doc if token.text.strip())
        item.mentions.insert(0, Span(item.doc, word, word + 1, label=label, kb_id="D000001|OMIM:1"))
    path = folder / "out.pubtator"
    path.write_bytes(written(linking, items, "pubtator").encode())
    documents = list(read_corpus(path, "pubtator", strict=True))
    for document, item in zip(documents, items, strict=True):
        assert len(document.text) in (len(item.doc.text), len(item.doc.text.rstrip()))
        found = [(mention.start, mention.end, "|".join(mention.ids)) for mention in document.mentions]
        assert found == [(span.start_char, span.end_char, span.kb_id_) for span in item.mentions]


@settings(deadline=None)
@given(text=ODD, doc_id=ODD)
def test_tsv_has_the_same_columns_in_every_row(folder, linking, text, doc_id):
    items = linked(linking, folder, [{"id": "x" + doc_id, "text": text + " aspirin"}])
    rows = [row.split("\t") for row in written(linking, items, "tsv").splitlines()]
    assert {len(row) for row in rows} == {14}
    assert len(rows) == 1 + sum(len(item.mentions) for item in items)


def test_a_mention_without_links_has_a_row(linking, folder):
    (item,) = linked(linking, folder, [{"id": "x", "text": "some words"}])
    item.mentions.append(Span(item.doc, 0, 1, label="L"))
    rows = written(linking, [item], "tsv").splitlines()
    assert rows[1].split("\t") == ["x", "0", "4", "some", "L", "some", "", "", "", "", "", "false", "", ""]
