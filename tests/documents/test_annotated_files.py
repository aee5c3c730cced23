import json

import pytest
import spacy

from spacy_sapbert.documents.docbin import write_docbin
from spacy_sapbert.documents.docs import to_doc
from spacy_sapbert.documents.input_documents import ReadOptions, read_documents
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.files.opening import STDIN
from spacy_sapbert.types import Document, Mention

XML = """<?xml version="1.0"?>
<collection>
<document><id>7</id>
<passage><infon key="type">title</infon><offset>0</offset><text>On flu</text></passage>
<passage><infon key="type">abstract</infon><offset>7</offset><text>Flu is bad.</text>
<annotation id="a"><infon key="type">Disease</infon><infon key="identifier">MESH:D007251</infon>
<location offset="7" length="3"/><text>Flu</text></annotation>
</passage></document>
<document><id>8</id><passage><offset>0</offset><text>No title</text></passage></document>
</collection>"""

INFONS = {"type": "Disease", "identifier": "MESH:D007251", "valid": True, "note": None}
ANNOTATION = {"id": "a", "infons": INFONS, "text": "Flu", "locations": [{"offset": 7, "length": 3}]}
JSON = {
    "id": 7,
    "passages": [
        {"infons": {"type": "title"}, "offset": 0, "text": "On flu", "annotations": []},
        {"infons": {"type": "abstract"}, "offset": 7, "text": "Flu is bad.", "annotations": [ANNOTATION]},
    ],
}


def test_bioc_xml(read):
    first, second = read("a.xml", XML)
    assert (first.doc_id, first.text, first.title, first.mentions) == ("7", "On flu Flu is bad.", "On flu", ())
    assert first.position.endswith("a.xml, line 3")
    assert (second.doc_id, second.text, second.title) == ("8", "No title", "")


def test_annotated_mentions_of_bioc(read, messages):
    first, second = read("a.xml", XML, gold=True)
    assert first.mentions == (Mention(7, 10, "Flu", "Disease", ("D007251",)),)
    assert second.mentions == ()
    read("a.xml", XML.replace('offset="7" length', 'offset="8" length'), gold=True)
    assert "1 annotated mentions differ from the text at their offsets; 1 of them were moved" in messages()


def test_bioc_json_with_a_document_per_line(read):
    lines = [json.dumps({**JSON, "id": number}) for number in (1, 2)]
    first, second = read("a.json", "\n".join(lines) + "\n", gold=True)
    assert (first.doc_id, second.doc_id, second.text) == ("1", "2", "On flu Flu is bad.")
    assert first.mentions == second.mentions == (Mention(7, 10, "Flu", "Disease", ("D007251",)),)


@pytest.mark.parametrize("shape", [JSON, [{"documents": [JSON]}], {"PubTator3": [JSON]}, {"documents": [JSON]}])
def test_bioc_json_is_read_as_the_xml(read, shape):
    (document,) = read("a.json", json.dumps(shape), gold=True)
    wanted = read("a.xml", XML, gold=True)[0]
    assert document[:2] == wanted[:2]
    assert (document.title, document.mentions) == (wanted.title, wanted.mentions)


@pytest.mark.parametrize("content", ['{"text": "flu"}', "[]", '{"text": "flu"}\n{"text": "cold"}', '{"passages": 3}'])
def test_other_json_is_reported(read, content):
    with pytest.raises(SapbertError, match=r"\[E121\] .*format is jsonl"):
        read("a.json", content)


def test_broken_parts_of_bioc_json_are_reported(read, messages):
    broken = {"id": 8, "passages": [{"offset": "x", "text": "flu"}]}
    strange = {"id": 9, "passages": [3, {"offset": 0, "text": "cold", "annotations": [4, {"locations": [5]}]}]}
    documents = read("a.json", json.dumps({"documents": [broken, strange]}))
    assert [document.text for document in documents] == ["cold"]
    assert "'x' is not a valid offset of a passage" in messages()


def bioc_of(annotations):
    """A document with two sentences. The second one has annotations, each a text with the pairs of its locations."""
    marked = "".join(
        f"<annotation><infon key='type'>Disease</infon><text>{text}</text>"
        + "".join(f"<location offset='{offset}' length='{length}'/>" for offset, length in locations)
        + "</annotation>"
        for text, locations in annotations
    )
    sentences = f"<sentence><offset>10</offset><text>On flu.</text></sentence><sentence><offset>18</offset>\
<text>Breast and lung cancer is bad.</text>{marked}</sentence>"
    return f"<collection><document><id>7</id><passage><offset>10</offset>{sentences}</passage></document></collection>"


@pytest.mark.parametrize(
    ("text", "locations", "read_text"),
    [
        ("lung cancer", [(29, 11)], "lung cancer"),  # from the start of the document
        ("lung cancer", [(11, 11)], "lung cancer"),  # from the start of the sentence
        ("breast cancer", [(0, 6), (16, 6)], "Breast and lung cancer"),
        ("Lung-cancer", [(29, 11)], "lung cancer"),  # another spelling
        ("glioma", [(29, 11)], None),
        ("breast cancer", [(12, 6), (18, 4)], None),
        ("", [(29, 11)], "lung cancer"),
    ],
)
def test_offsets_of_bioc_fit_the_text_or_are_refused(read, messages, text, locations, read_text):
    (document,) = read("a.xml", bioc_of([(text, locations)]), gold=True)
    assert [mention.text for mention in document.mentions] == ([read_text] if read_text else [])
    assert ("is not at its offsets" in messages()) == (read_text is None)


@pytest.fixture
def stored(tmp_path):
    """A `.spacy` file with a document that has an id and one that has none."""
    nlp = spacy.blank("en")
    mention = Mention(0, 3, "Flu", "Disease", ("D007251",))
    with_id = to_doc(nlp, Document("7", "Flu is bad.", (mention,)))
    write_docbin([with_id, nlp("Cold")], tmp_path / "a.spacy")
    return mention


def test_spacy_files(read, stored):
    first, second = read("a.spacy")
    assert (first.doc_id, first.text, first.mentions) == ("7", "Flu is bad.", ())
    assert (second.doc_id, second.text) == ("a.spacy:2", "Cold")
    assert second.position.endswith("a.spacy, document 2")
    first, second = read("a.spacy", gold=True)
    assert (first.mentions, second.mentions) == ((stored,), ())


@pytest.mark.parametrize("format", ["spacy", "parquet"])
def test_binary_formats_are_not_read_from_standard_input(problems, format):
    with pytest.raises(SapbertError, match=rf"\[E533\] --format {format}"):
        list(read_documents(STDIN, ReadOptions(format), problems))


PMC_INFONS = {
    "article-id_pmid": "123",
    "article-id_pmc": "7654321",
    "article-id_doi": "10.1/a",
    "kwd": "flu title",
    "name_0": "surname:Doe;given-names:A",
    "section_type": "TITLE",
    "type": "front",
    "year": "2019",
}
PMC_PASSAGES = [
    (0, PMC_INFONS, "On flu"),
    (7, {"section_type": "ABSTRACT", "type": "abstract_title_1"}, "Background"),
    (18, {"section_type": "ABSTRACT", "type": "abstract"}, "Flu is bad."),
    (30, {"section_type": "REF", "type": "ref", "year": "1990"}, "Cited"),
]
PMC_META = {"title": "On flu", "pmid": "123", "pmcid": "PMC7654321", "doi": "10.1/a", "license": "CC BY", "year": 2019}


def test_bioc_xml_of_pmc(read):
    def infons_xml(infons):
        return "".join(f'<infon key="{key}">{value}</infon>' for key, value in infons.items())

    passages = "".join(
        f"<passage>{infons_xml(infons)}<offset>{offset}</offset><text>{text}</text></passage>"
        for offset, infons, text in PMC_PASSAGES
    )
    document = f'<document><id>PMC7654321</id><infon key="license">CC BY</infon>{passages}</document>'
    head = '<?xml version="1.0" encoding="UTF-8"?><!DOCTYPE collection SYSTEM "BioC.dtd">'
    (found,) = read("a.xml", f"{head}<collection><source>PMC</source><key>pmc.key</key>{document}</collection>")
    assert found[:2] == ("PMC7654321", "On flu Background Flu is bad. Cited")
    assert (found.title, found.meta) == ("On flu", PMC_META)


@pytest.mark.parametrize("year", ["", "in press", "20", "２０２０"])
def test_a_year_that_is_none_is_left_out(read, year):
    passage = {"infons": {"type": "title", "year": year}, "offset": 0, "text": "T"}
    assert read("a.json", json.dumps({"id": 1, "passages": [passage]}))[0].meta == {"title": "T"}
