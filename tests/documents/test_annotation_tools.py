"""What is written for annotation tools is read back, and their own libraries and examples are read as they mean it."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.documents.annotation_tools import (
    brat_files,
    doccano_example,
    file_name_of,
    label_studio_task,
    prodigy_task,
    pubannotation_document,
)
from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.documents.uima import TYPE_SYSTEM_FILE, xmi_files
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.kb.ids import NO_ID, canonical_id, split_ids
from spacy_sapbert.types import Document, Mention

TEXT = "Flu, breast and ovarian cancer."


def write(folder, format, document, names=None):
    """Write a document as the tool reads it. RETURNS: the file to read."""
    names = names or {}
    lines = {"prodigy": prodigy_task, "doccano": doccano_example}
    if format in lines:
        name, files = "a", {".jsonl": json.dumps(lines[format](document, names)) + "\n"}
    elif format in ("brat", "xmi"):
        name, files = file_name_of(document.doc_id), (brat_files if format == "brat" else xmi_files)(document, names)
    else:
        make = label_studio_task if format == "labelstudio" else pubannotation_document
        name, files = "a", {".json": json.dumps([make(document, names)])}
    for ending, content in files.items():
        path = folder / f"{name}{ending}"
        path.write_bytes(content.encode())
    return path


TOOLS = ("brat", "xmi", "labelstudio", "prodigy", "pubannotation", "doccano")
ODD = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff") | st.sampled_from(
    '\t\n\r😀𝄞%;|&"\\ '
)
WORDS = st.text("abz0_,😀é字", min_size=1, max_size=6)
IDS = st.sampled_from(["D003550", "C565588", "C0012634", "OMIM:145250", "HP:0000118"]) | st.text(
    ODD, min_size=1
).filter(
    lambda text: (
        canonical_id(text) == text not in NO_ID and split_ids(text.translate({44: "x"})) and text == text.strip()
    )
)


@st.composite
def documents(draw):
    text = "".join(draw(st.lists(WORDS | st.sampled_from(["\n", "\r\n", "  "]), min_size=1, max_size=9)))
    places = st.tuples(st.integers(0, len(text) - 1), st.integers(1, len(text))).filter(
        lambda place: place[0] < place[1]
    )
    mentions = {}
    for start, end in draw(st.lists(places, max_size=4)):
        surface, offsets = text[start:end], ()
        if surface != surface.strip():
            continue
        if end - start > 4 and draw(st.booleans()) and not any(map(str.isspace, surface[:3])):
            offsets = ((start, start + 1), (start + 2, end))
        label, ids = draw(WORDS), draw(st.lists(IDS, max_size=2, unique=True))
        mentions[start, end, label, offsets] = Mention(start, end, surface, label, tuple(ids), offsets=offsets)
    doc_id = draw(st.text(ODD, min_size=1, max_size=12).map(str.strip).filter(bool))
    return Document(doc_id, text, tuple(sorted(mentions.values(), key=lambda mention: mention[:2])))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tools")


@pytest.mark.parametrize("format", TOOLS)
def test_offsets_and_ids_survive(format, folder):
    @settings(max_examples=25, deadline=None)
    @given(documents())
    def check(document):
        path = write(folder, format, document)
        (read,) = read_corpus(path, format, strict=True)
        path.unlink()
        assert (read.doc_id, read.text) == (document.doc_id, document.text)
        key = lambda mention: (*mention[:4], sorted(mention.ids), mention.offsets)  # noqa: E731
        assert sorted(map(key, read.mentions)) == sorted(map(key, document.mentions))

    check()


DOCUMENT = Document(
    "n 1",
    TEXT,
    (
        Mention(0, 3, "Flu", "Disease", ("D007251",)),
        Mention(5, 30, TEXT[5:30], "Disease", ("D001943", "D010051"), offsets=((5, 11), (24, 30))),
    ),
)
LABELS = {"id": "a", "from_name": "ner", "to_name": "text", "type": "labels"}
FLU = {"start": 0, "end": 3, "text": "Flu"}
FINISHED = [{**LABELS, "value": {**FLU, "labels": ["Disease"]}}, {"type": "relation", "from_id": "a", "to_id": "b"}]
TAXONOMY = {**FLU, "taxonomy": [["x", "MESH:D007251"]]}
FINISHED += [{**LABELS, "from_name": "concept", "type": "taxonomy", "value": TAXONOMY}]
TASK = {"id": 7, "data": {"text": TEXT}, "predictions": [{"result": []}]}
CANCELED = {"result": [], "was_cancelled": True}
CHOICE = {"text": TEXT, "options": [{"id": "D007251"}], "answer": "accept"}
BRAT = "T1\tDisease 0 3\tFlu\nE1\tCause:T1\nA1\tNegation E1\n#1\tAnnotatorNotes T1\tsure\n*\tEquiv T1 T1\n"


EXAMPLES = {
    "a.labelstudio.json": ([{**TASK, "annotations": [{"result": FINISHED}, CANCELED]}], 1),
    "a.json": ({"text": TEXT, "denotations": [{"obj": "Disease:D007251", "span": {"begin": 0, "end": 3}}]}, 0),
    "a.prodigy.jsonl": ({**CHOICE, "accept": ["D007251"], "spans": [{"start": 0, "end": 3, "label": "Disease"}]}, 0),
    "a.jsonl": ({"text": TEXT, "labels": [[0, 3, "Disease"]], "links": [[0, 3, "Disease", "MESH:D007251", []]]}, 0),
    "a.ann": (BRAT + "N1\tReference T1 MESH:D007251\tInfluenza\n", 4),
}


SPAN = {"id": 5, "label": "Disease", "start_offset": 0, "end_offset": 3}
REGION = {**LABELS, "value": {**FLU, "labels": ["Disease"]}}
HTML = {"start": "/p[1]/text()[1]", "end": "/p[1]/text()[1]", "startOffset": 0, "endOffset": 3, "text": "Flu"}
HTML |= {"globalOffsets": {"start": 0, "end": 3}, "hypertextlabels": ["Disease"]}
HTML = {**LABELS, "type": "hypertextlabels", "value": HTML}
PLACE = {"span": {"begin": 0, "end": 3}}
ADDRESS = "http://id.nlm.nih.gov/mesh/D007251"
IDENTIFIED = {"subj": "T1", "pred": "denotes", "obj": ADDRESS}
DENOTED = {"id": "T1", **PLACE, "obj": "Disease"}
SPACE = {"prefix": "m", "uri": "http://id.nlm.nih.gov/mesh/"}
DENOTING = {"text": TEXT, "denotations": [DENOTED], "attributes": [IDENTIFIED]}
BERN2 = {"id": ["mesh:D007251"], "is_neural_normalized": True, "mention": "Flu", "obj": "Disease", **PLACE}
SHAPES = {
    "annotations of Doccano": ("a.jsonl", {"id": 1, "text": TEXT, "annotations": [SPAN], "meta": {}}),
    "entities of Doccano": ("a.jsonl", {"id": 1, "text": TEXT, "entities": [SPAN], "relations": [], "Comments": []}),
    "data of Doccano": ("a.jsonl", {"id": 1, "data": TEXT, "label": [[0, 3, "Disease"]], "annotator": "a"}),
    "a list of Doccano": ("a.json", [{"id": 1, "text": TEXT, "label": [[0, 3, "Disease"]]}]),
    "completions": ("a.json", [{"id": 1, "completions": [{"result": [REGION]}], "data": {"text": TEXT}}]),
    "another text key": ("a.json", [{"id": 1, "annotations": [{"result": [REGION]}], "data": {"note": TEXT}}]),
    "HTML": (
        "a.json",
        [{"data": {"html": TEXT}, "annotations": [{"result": [HTML]}]}],
    ),
    "Label Studio's short export": ("a.json", [{"text": TEXT, "id": 1, "ner": [{**FLU, "labels": ["Disease"]}]}]),
    "an attribute that is an address": ("a.json", DENOTING),
    "a namespace": (
        "a.json",
        {
            "text": TEXT,
            "denotations": [DENOTED],
            "attributes": [{**IDENTIFIED, "obj": "m:D007251"}],
            "namespaces": [{"prefix": "m", "uri": "http://id.nlm.nih.gov/mesh/"}],
        },
    ),
    "tracks": (
        "a.json",
        {"text": TEXT, "tracks": [{"project": "p", "denotations": [DENOTED], "attributes": [IDENTIFIED]}]},
    ),
    "BERN2": ("a.json", {"annotations": [BERN2], "text": TEXT}),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_a_tool_has_its_mention(tmp_path, shape):
    name, value = SHAPES[shape]
    (tmp_path / name).write_text(json.dumps(value))
    (document,) = read_corpus(tmp_path / name, strict=True)
    (mention,) = document.mentions
    assert (document.text, mention[:4]) == (TEXT, (0, 3, "Flu", "Disease"))
    assert mention.ids == (("D007251",) if "D007251" in json.dumps(value) else ())


def test_only_what_people_accepted_is_read_of_medcattrainer(tmp_path, read_reporting):
    given = {"value": "Flu", "start": 0, "end": 3, "cui": "C0021400", "validated": True, "deleted": False}
    others = [{**given, mark: True} for mark in ("deleted", "killed", "irrelevant")] + [{**given, "validated": False}]
    document = {"id": 4, "name": "n 4", "text": TEXT, "annotations": [given, *others], "relations": []}
    content = json.dumps({"projects": [{"id": 1, "name": "p", "cuis": "", "documents": [document]}]})
    (read,), report = read_reporting(tmp_path / "a.json", None, content, strict=True)
    assert (read.doc_id, read.mentions) == ("4", (Mention(0, 3, "Flu", "Mention", ("C0021400",)),))
    assert report.rejected == 4


def test_the_key_of_a_text_can_be_given(tmp_path, read):
    data = {"note": TEXT, "title": "a", "patient": "b"}
    (tmp_path / "a.json").write_text(json.dumps([{"data": data, "annotations": [{"result": [REGION]}]}]))
    (document,) = read("a.json", gold=True, text_column="note")
    assert (document.text, document.mentions[0].text) == (TEXT, "Flu")


def test_what_has_no_text_is_reported(tmp_path, read_reporting):
    content = json.dumps({"sourceid": "12", "denotations": [DENOTED]})
    documents, report = read_reporting(tmp_path / "a.json", None, content)
    assert documents == []
    assert "no key 'text'" in report.problems[0].reason


def test_bioc_in_lines_is_recognized(tmp_path, read):
    location = {"offset": 0, "length": 3}
    annotation = {"id": "1", "infons": {"type": "Disease", "identifier": "MESH:D007251"}, "locations": [location]}
    passage = {"offset": 0, "infons": {}, "text": TEXT, "annotations": [{**annotation, "text": "Flu"}]}
    lines = [json.dumps({"id": number, "infons": {}, "passages": [passage]}) + "\n" for number in "12"]
    (tmp_path / "a.jsonl").write_text("".join(lines))
    assert [document.text for document in read("a.jsonl")] == [TEXT, TEXT]
    (tmp_path / "b.jsonl").write_text('{"text": "Flu", "passages": [{"offset": 0}]}')
    assert [document.text for document in read("b.jsonl")] == ["Flu"]
    documents = read("a.jsonl", gold=True)
    assert [document.mentions[0].ids for document in documents] == [("D007251",), ("D007251",)]
    assert documents == [
        document._replace(position=documents[0].position) for document in read_corpus(tmp_path / "a.jsonl")
    ]


def test_a_type_that_is_an_address_is_a_concept(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"text": TEXT, "denotations": [{**PLACE, "obj": ADDRESS}]}))
    (document,) = read_corpus(tmp_path / "a.json", strict=True)
    assert document.mentions == (Mention(0, 3, "Flu", "Mention", ("D007251",)),)


CHOICES = {"id": "c", "type": "choices", "from_name": "kind", "value": {"choices": ["note"]}}
XMI = "<xmi:XMI xmlns:xmi='xmi' xmlns:cas='cas' xmlns:t='t' xmlns:custom='custom'>{}</xmi:XMI>"
SOFA = f"<cas:Sofa xmi:id='1' sofaString='{TEXT}'/>"


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("a.jsonl", {"text": TEXT, "entities": [], "sentiment": [{"x": 1}]}, "'sentiment' [(]1[)]"),
        (
            "a.json",
            [{"data": {"text": TEXT}, "annotations": [{"result": [CHOICES]}]}],
            "choices without offsets [(]1[)]",
        ),
        ("a.json", {"text": TEXT, "denotations": [], "relations": [{}]}, "relations, attributes and notes [(]1[)]"),
        ("a.xmi", XMI.format(f"<t:Chunk sofa='1' begin='0' end='3'/>{SOFA}"), "layer t:Chunk [(]1[)]"),
        ("a.ann", "R1\tCauses Arg1:T1 Arg2:T2\n", "relations, attributes and notes [(]1[)]"),
    ],
)
def test_a_file_with_annotations_but_without_mentions_is_told(tmp_path, name, content, found):
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / name).write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.warns(UserWarning, match=rf"W204.*{found}"):
        assert [document.mentions for document in read_corpus(tmp_path / name)] == [()]


def test_labels_of_whole_texts_are_reported(tmp_path, read_reporting):
    content = json.dumps({"text": TEXT, "label": ["positive"]})
    _, report = read_reporting(tmp_path / "a.jsonl", None, content)
    assert "without offsets" in report.problems[0].reason


def test_an_annotation_file_without_text_is_named_and_the_folder_goes_on(read, tmp_path, read_reporting):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.ann").write_text("T1\tDisease 0 3\tFlu\n")
    write(tmp_path / "notes", "brat", DOCUMENT)
    (document,) = read("notes", gold=True)
    assert document.mentions == DOCUMENT.mentions
    documents, report = read_reporting(tmp_path / "a.ann", None, "T1\tDisease 0 3\tFlu\n")
    assert documents == []
    assert "no text a.txt beside it" in report.problems[0].reason


def test_notes_of_annotators_with_ids_are_concepts(tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    notes = "#1\tAnnotatorNotes T1\tC0021400, MESH:D007251\n#2\tAnnotatorNotes T1\tsee D007251\n"
    (tmp_path / "a.ann").write_text("T1\tDisease 0 3\tFlu\n" + notes)
    (document,) = read_corpus(tmp_path / "a.ann", strict=True)
    assert document.mentions[0].ids == ("C0021400", "D007251")


def test_relations_of_inception_are_no_mentions_and_any_feature_can_have_ids(tmp_path):
    layers = [
        "<custom:Disorder xmi:id='7' sofa='1' begin='0' end='3' value='Disease' kb='http://purl.obolibrary.org/obo/HP_1'/>",
        "<custom:Finding sofa='1' begin='5' end='11' note='left: 2'><codes>SNOMEDCT:22298006</codes></custom:Finding>",
        "<custom:Causes sofa='1' begin='0' end='3' Governor='7' Dependent='7' label='x'/>",
        "<custom:ChainLink sofa='1' begin='0' end='3' next='9'/>",
    ]
    (tmp_path / "a.xmi").write_text(XMI.format("".join(layers) + SOFA))
    (document,) = read_corpus(tmp_path / "a.xmi", strict=True)
    assert [(mention.label, mention.ids) for mention in document.mentions] == [
        ("Disease", ("HP:1",)),
        ("Finding", ("SNOMEDCT:22298006",)),
    ]


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_the_tools_write_is_recognized(tmp_path, read, read_reporting, name):
    (tmp_path / "a.txt").write_text(TEXT)
    value, relations = EXAMPLES[name]
    content = value if isinstance(value, str) else json.dumps(value)
    (document,), report = read_reporting(tmp_path / name, None, content, strict=True)
    assert read(name, gold=True)[0].mentions == document.mentions
    assert document.text == TEXT
    assert document.mentions == (Mention(0, 3, "Flu", "Disease", ("D007251",)),)
    assert report.relations == relations


def test_a_second_mention_of_one_name_is_reported(tmp_path, read_reporting):
    (tmp_path / "a.txt").write_text(TEXT)
    (document,), report = read_reporting(tmp_path / "a.ann", None, f"{BRAT}T1\tDisease 5 11\tbreast\n")
    assert [mention.text for mention in document.mentions] == ["Flu"]
    assert "a second mention T1" in report.problems[0].reason


def test_choices_of_one_text_are_one_document(tmp_path):
    spans = [
        ({"start": start, "end": end, "label": "Disease"}, answer)
        for start, end, answer in [(5, 11, "D001943"), (0, 3, "NIL")]
    ]
    tasks = [{**CHOICE, "spans": [span], "accept": [answer]} for span, answer in spans]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    (document,) = read_corpus(tmp_path / "a.jsonl")
    assert [(mention.text, mention.ids) for mention in document.mentions] == [("Flu", ()), ("breast", ("D001943",))]


BROKEN = [
    ("brat", "T1\tDisease 0 99\tx\n", "outside"),
    ("brat", "T1\tDisease 0\n", "pairs"),
    ("brat", "N1\tReference T9 A:1\t\n", "no concept"),
    ("brat", "half", "no annotation"),
    ("brat", "T1\tDisease 0 99\tx\n#1\tAnnotatorNotes T1\tsure\n", "outside"),
    ("labelstudio", {"id": "a", "value": {"start": 1.5, "end": 3}}, "TypeError"),
    ("labelstudio", {"value": {}}, "KeyError"),
    ("labelstudio", 7, "AttributeError"),
    ("prodigy", {"start": 0, "end": 99}, "outside"),
    ("prodigy", {"start": "0", "end": 3}, "TypeError"),
    ("pubannotation", {"span": {"begin": 9, "end": 3}, "obj": "x"}, "outside"),
    ("pubannotation", {"obj": "x"}, "KeyError"),
    ("doccano", [0, 3], "ValueError"),
    ("doccano", [0, 3, {}], "TypeError"),
    ("doccano", None, "AttributeError"),
]


@pytest.mark.parametrize(("format", "annotation", "reason"), BROKEN)
def test_annotations_that_do_not_fit_are_reported(tmp_path, read_reporting, format, annotation, reason):
    (tmp_path / "a.txt").write_text(TEXT)
    values = {
        "labelstudio": [TASK | {"annotations": [{"result": [annotation]}]}],
        "prodigy": {"text": TEXT, "spans": [annotation]},
        "pubannotation": {"text": TEXT, "denotations": [annotation], "attributes": []},
        "doccano": {"text": TEXT, "label": [annotation]},
    }
    content = annotation if format == "brat" else json.dumps(values[format])
    documents, report = read_reporting(tmp_path / "a.ann", format, content)
    assert [mention for document in documents for mention in document.mentions] == []
    assert report.broken == 1
    assert reason in report.problems[0].reason


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("a.json", '[{"data": {"text": "half', "E121"),
        ("a.json", '{"denotations": [], "text": "\\ud800"}', "E121"),
        ("a.xmi", "<xmi:XMI xmlns:xmi='x'><cas:Sofa", "E127"),
        ("a.xmi", "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><xmi:XMI xmlns:xmi='x'>&e;</xmi:XMI>", "E206"),
        ("a.xmi", "<collection/>", "E121"),
    ],
)
def test_files_that_are_damaged_or_alone_are_errors(tmp_path, name, content, code):
    (tmp_path / name).write_text(content)
    with pytest.raises(SapbertError, match=rf"\[{code}\]"):
        list(read_corpus(tmp_path / name))


def test_cassis_reads_and_writes_the_same_xmi(tmp_path):
    cassis = pytest.importorskip("cassis")
    document = DOCUMENT._replace(text=f"{TEXT}\n😀 flu", mentions=(*DOCUMENT.mentions, Mention(34, 37, "flu", "X")))
    path = write(tmp_path, "xmi", document)
    types = cassis.load_typesystem(TYPE_SYSTEM_FILE)
    cas = cassis.load_cas_from_xmi(path.read_text(), types)
    entities = [
        (entity.get_covered_text(), entity.value, entity.identifier)
        for entity in cas.select("de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity")
    ]
    long = [(TEXT[5:30], "Disease", f"MESH:{name}") for name in ("D001943", "D010051")]
    assert entities == [("Flu", "Disease", "MESH:D007251"), *long, ("flu", "X", None)]
    cas.to_xmi(tmp_path / "cassis.xmi")
    assert next(read_corpus(tmp_path / "cassis.xmi"))[:3] == document[:3]


def test_layers_of_inception_are_mentions_with_addresses_as_ids(tmp_path):
    namespaces = "".join(f" xmlns:{name}='{name}'" for name in ("xmi", "cas", "custom", "type4", "type5"))
    span = "sofa='1' begin='0' end='3'"
    iris = ["http://purl.obolibrary.org/obo/HP_0001945", "http://id.nlm.nih.gov/mesh/D007251"]
    layers = [
        f"<type5:Token {span}/>",
        f"<type4:NamedEntity {span} value='Disease' identifier='{iris[0]}'/>",
        f"<custom:Disorder {span} concept='{iris[1]}'/>",
        f"<custom:Disorder sofa='2' begin='0' end='3' concept='{iris[1]}'/>",
    ]
    sofa = f"<cas:Sofa xmi:id='1' sofaString='{TEXT}'/>"
    (tmp_path / "a.xml").write_text(f"<xmi:XMI{namespaces}>{''.join(layers)}{sofa}</xmi:XMI>")
    (document,) = read_corpus(tmp_path / "a.xml", strict=True)
    assert [(mention.label, mention.ids) for mention in document.mentions] == [
        ("Disease", ("HP:0001945",)),
        ("Disorder", ("D007251",)),
    ]


def test_a_folder_of_brat_is_read_once(read, tmp_path):
    (tmp_path / "notes").mkdir()
    write(tmp_path / "notes", "brat", DOCUMENT)
    write(tmp_path / "notes", "xmi", DOCUMENT._replace(doc_id="n/2"))
    (tmp_path / "notes" / "TypeSystem.xml").write_bytes(TYPE_SYSTEM_FILE.read_bytes())
    first, second = read("notes", gold=True)
    assert (first.doc_id, second.doc_id) == ("n 1", "n/2")
    assert first.mentions == second.mentions == DOCUMENT.mentions
    assert [document.mentions for document in read("notes")] == [(), ()]
    texts = [document.text for document in read("notes", format="text")]
    assert len(texts) == 4
    assert TEXT in texts
