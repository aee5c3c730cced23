from functools import partial
from xml.sax.saxutils import escape

import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st

from spacy_sapbert.documents.bioc import _Annotation, _merge_composites
from spacy_sapbert.documents.docs import from_doc, offsets_of, to_doc
from spacy_sapbert.documents.reader import read_corpus
from spacy_sapbert.errors import SapbertError
from spacy_sapbert.types import Document, Mention

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE collection SYSTEM "BioC.dtd">\n'


def annotation(locations, text, *infons, name="1"):
    places = "".join(f'<location offset="{offset}" length="{length}"/>' for offset, length in locations)
    keys = "".join(f'<infon key="{key}">{value}</infon>' for key, value in infons)
    return f'<annotation id="{name}">{keys}{places}<text>{text}</text></annotation>'


def passage(offset, text, *annotations):
    return f"<passage><offset>{offset}</offset><text>{text}</text>{''.join(annotations)}</passage>"


def collection(*documents, head=HEAD):
    body = "\n".join(f"<document><id>{number}</id>{body}</document>" for number, body in enumerate(documents, start=1))
    return f"{head}<collection><source>ours</source><date/><key/>\n{body}</collection>"


@pytest.fixture
def read(read_reporting, tmp_path):
    return partial(read_reporting, tmp_path / "corpus.xml", "bioc")


DISEASE = ("type", "Disease")


def test_passages_stand_at_their_offsets(read):
    title = passage(0, "Renal failure.", annotation([(0, 13)], "Renal failure", DISEASE, ("MESH", "D051437")))
    abstract = passage(15, "It &lt; flu.", annotation([(20, 3)], "flu", DISEASE, ("identifier", "MESH:D007251")))
    relation = '<relation id="R0"><infon key="relation">CID</infon></relation>'
    documents, report = read(collection(title + abstract + relation))
    expected = (
        Mention(0, 13, "Renal failure", "Disease", ("D051437",)),
        Mention(20, 23, "flu", "Disease", ("D007251",)),
    )
    assert [document[:3] for document in documents] == [("1", "Renal failure. It < flu.", expected)]
    assert (report.documents, report.mentions, report.relations, report.broken, report.shifted) == (1, 2, 1, 0, 0)


@pytest.mark.parametrize("offset", [2, 5000])
def test_passages_that_overlap_or_lie_far_away_follow_after_a_blank(read, offset):
    second = passage(offset, "flu", annotation([(offset, 3)], "flu", DISEASE))
    documents, report = read(collection(passage(0, "A title") + second))
    assert documents[0][:3] == ("1", "A title flu", (Mention(8, 11, "flu", "Disease"),))
    assert report.shifted == 1
    # the first passage starts the text wherever its offset is
    assert read(collection(second))[0][0][:3] == ("1", "flu", (Mention(0, 3, "flu", "Disease"),))


def test_annotations_of_sentences_passages_and_documents(read):
    sentences = "".join(
        f"<sentence><offset>{offset}</offset><text>{text}</text>{inside}</sentence>"
        for offset, text, inside in [(0, "A cold.", annotation([(2, 4)], "cold", DISEASE)), (8, "A flu.", "")]
    )
    of_passage = annotation([(10, 3)], "flu", DISEASE)
    of_document = annotation([(2, 4)], "cold", ("type", "Finding"))
    body = f"<passage><offset>0</offset>{sentences}{of_passage}</passage>{of_document}"
    documents, report = read(collection(body))
    assert documents[0].text == "A cold. A flu."
    found = [(mention.text, mention.label) for mention in documents[0].mentions]
    assert found == [("cold", "Disease"), ("cold", "Finding"), ("flu", "Disease")]
    assert report.broken == 0


@pytest.mark.parametrize(
    ("infons", "ids"),
    [
        ([("MESH", "D1|-1")], ("D1",)),
        ([("OMIM", "145250"), ("MESH", "C565588")], ("C565588", "OMIM:145250")),
        ([("identifier", "MESH:D1"), ("MESH", "D1")], ("D1",)),
        ([("UMLS", "C0012634"), ("note", "D9")], ("C0012634",)),
        ([("NCBI Gene", "3458;3459")], ("NCBIGene:3458", "NCBIGene:3459")),
        ([], ()),
    ],
)
def test_ids_come_from_the_infons_that_hold_ids(read, infons, ids):
    documents, _ = read(collection(passage(0, "flu", annotation([(0, 3)], "flu", DISEASE, *infons))))
    assert documents[0].mentions[0].ids == ids


def test_mention_in_several_pieces_reaches_from_the_first_to_the_last(read):
    pieces = annotation([(11, 6), (0, 6)], "breast cancer", DISEASE, ("MESH", "D001943"))
    documents, report = read(collection(passage(0, "breast and cancer", pieces)))
    offsets = ((0, 6), (11, 17))
    expected = Mention(0, 17, "breast and cancer", "Disease", ("D001943",), offsets=offsets)
    assert documents[0].mentions == (expected,)
    doc = to_doc(spacy.blank("en"), documents[0])
    assert from_doc(doc)[:3] == documents[0][:3]
    assert offsets_of(doc) == {(0, 17, "Disease"): offsets}
    assert (report.discontinuous, report.mismatched) == (1, 0)


def test_single_mentions_of_a_composite_become_its_parts(read):
    role = "CompositeRole"
    text = "Breast and ovarian cancer, lung cancer"
    annotations = [
        annotation([(0, 6), (19, 6)], "Breast cancer", DISEASE, (role, "IndividualMention"), ("MESH", "D001943")),
        annotation([(0, 25)], text[:25], DISEASE, (role, "CompositeMention"), ("MESH", "D001943|D010051")),
        annotation([(11, 14)], "ovarian cancer", DISEASE, (role, "IndividualMention"), ("MESH", "D010051")),
        annotation([(27, 11)], "lung cancer", DISEASE, (role, "IndividualMention"), ("MESH", "D008175")),
    ]
    documents, report = read(collection(passage(0, text, *annotations)))
    parts = ("Breast cancer", "ovarian cancer")
    assert documents[0].mentions == (
        Mention(0, 25, "Breast and ovarian cancer", "Disease", ("D001943", "D010051"), parts),
        Mention(27, 38, "lung cancer", "Disease", ("D008175",)),
    )
    assert report.discontinuous == 0


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (annotation([], "flu", DISEASE, name="T7"), "annotation T7: no location"),
        ('<annotation id="T7"><location offset="x" length="3"/></annotation>', "'x' is not a valid offset"),
        ('<annotation id="T7"><location offset="0"/></annotation>', "None is not a valid length"),
        (annotation([(50, 3)], "flu", DISEASE, name="T7"), "annotation T7: offsets 50-53"),
    ],
)
def test_broken_annotation_is_reported_with_line_and_the_rest_goes_on(read, broken, reason):
    good = annotation([(0, 4)], "cold", DISEASE)
    text = collection(passage(0, "cold", broken, good), passage(0, "cold", good))
    documents, report = read(text)
    assert [len(document.mentions) for document in documents] == [1, 1]
    assert report.broken == 1
    assert report.problems[0].line == 4
    assert reason in report.problems[0].reason
    with pytest.raises(SapbertError, match=r"\[E127\].*corpus\.xml, line 4"):
        read(text, strict=True)


def test_broken_document_is_reported_and_the_rest_goes_on(read):
    documents, report = read(collection("<passage><text>flu</text></passage>", passage(0, "flu")))
    assert [document.doc_id for document in documents] == ["2"]
    assert report.broken == 1
    documents, report = read(collection(passage(0, "flu")).replace("<id>1</id>", ""))
    assert (documents, report.broken) == ([], 1)


@pytest.mark.parametrize(
    "declarations",
    ['<!ENTITY a "x"><!ENTITY b "&a;&a;&a;">', '<!ENTITY a SYSTEM "file:///etc/hostname">', "<!ELEMENT x ANY>"],
)
def test_declarations_inside_the_file_are_refused(read, declarations):
    head = f"<!DOCTYPE collection [{declarations}]>\n"
    with pytest.raises(SapbertError, match=r"\[E206\].*corpus\.xml, line 1"):
        read(collection(passage(0, "&a;"), head=head))


def test_unknown_entities_and_another_root_are_refused(read):
    with pytest.raises(SapbertError, match=r"\[E206\].*&alpha;"):
        read(collection(passage(0, "TNF-&alpha; up")))
    with pytest.raises(SapbertError, match=r"\[E121\].*<html>"):
        read("<html></html>")
    with pytest.raises(SapbertError, match=r"\[E127\].*undefined entity"):
        read(collection(passage(0, "TNF-&alpha; up"), head=""))


def test_documents_before_malformed_xml_are_given(tmp_path):
    path = tmp_path / "corpus.xml"
    path.write_text(collection(passage(0, "flu"), passage(0, "cold"))[:-30])
    stream = read_corpus(path)
    assert next(stream).text == "flu"
    with pytest.raises(SapbertError, match=r"\[E127\].*corpus\.xml, line 5"):
        next(stream)


def test_encoding_is_that_of_the_xml(read):
    documents, _ = read(
        collection(passage(0, "Ménière"), head='<?xml version="1.0" encoding="UTF-16"?>').encode("utf-16")
    )
    assert documents[0].text == "Ménière"


words = st.text(alphabet="abé<&> -\n", min_size=1, max_size=12)


@settings(deadline=None)
@given(st.lists(st.lists(words, min_size=1, max_size=3), min_size=1, max_size=3), st.data())
def test_what_is_written_is_read(tmp_path_factory, texts, data):
    documents, bodies = [], []
    for number, passages in enumerate(texts, start=1):
        offset, body, mentions = 0, "", []
        for text in passages:
            start = data.draw(st.integers(0, len(text) - 1))
            length = data.draw(st.integers(1, len(text) - start))
            surface = text[start : start + length]
            span = annotation([(offset + start, length)], escape(surface), DISEASE)
            if surface.strip():
                mentions.append(Mention(offset + start, offset + start + length, surface, "Disease"))
            body += passage(offset, escape(text), *[span] * bool(surface.strip()))
            offset += len(text) + 1
        documents.append(Document(str(number), " ".join(passages), tuple(mentions)))
        bodies.append(body)
    path = tmp_path_factory.mktemp("written") / "corpus.xml"
    path.write_text(collection(*bodies), encoding="utf8")
    found = [document[:3] for document in read_corpus(path, strict=True)]
    assert found == [document[:3] for document in documents]


@pytest.mark.parametrize("encoding", ["GBK", "Shift_JIS", "UTF-7", "no-encoding"])
def test_an_encoding_that_cannot_be_read_is_reported(read, encoding):
    head = f'<?xml version="1.0" encoding="{encoding}"?>\n'
    with pytest.raises(SapbertError, match=r"E127.*corpus\.xml, line 1:.*encoding.*UTF-8 can"):
        read(collection(passage(0, "flu"), head=head))


@pytest.mark.parametrize("offset", ["1_0", "٣", "1" * 5000, "\u00b2"])
def test_an_offset_that_is_no_number_costs_its_annotation_only(read, offset):
    wrong, right = annotation([(offset, 3)], "flu", DISEASE), annotation([(0, 3)], "flu", DISEASE)
    (document,), report = read(collection(passage(0, "flu", wrong, right)))
    assert [mention[:2] for mention in document.mentions] == [(0, 3)]
    assert report.broken == 1


SPANS = st.tuples(st.integers(0, 8), st.integers(0, 8), st.sampled_from(["", "CompositeMention", "IndividualMention"]))


@given(st.lists(SPANS, max_size=12))
def test_single_mentions_belong_to_a_composite_around_them(spans):
    """Each one is a part of one composite around it, or a mention of its own if there is none."""
    items = [
        _Annotation(str(i), Mention(start, start + length, f"m{i}", "Disease"), role)
        for i, (start, length, role) in enumerate(spans)
    ]
    merged = {item.name: item.mention for item in _merge_composites(items)}
    for item in (item for item in items if item.role == "IndividualMention"):
        owners = [mention for mention in merged.values() if item.mention.text in mention.parts]
        around = [
            other.mention
            for other in items
            if other.role == "CompositeMention"
            and other.mention.start <= item.mention.start
            and item.mention.end <= other.mention.end
        ]
        assert (len(owners), item.name in merged) == ((1, False) if around else (0, True))
        assert all(owner._replace(parts=()) in around for owner in owners)
    for mention in merged.values():
        assert list(mention.parts) == sorted(mention.parts, key=lambda text: int(text[1:]))


def test_xml_of_many_levels_is_refused(tmp_path):
    content = "<collection><document>" + "<a>" * 2000 + "</a>" * 2000 + "</document></collection>"
    (tmp_path / "deep.xml").write_text(content)
    with pytest.raises(SapbertError, match=r"\[E586\] .* more than 1,000 levels"):
        list(read_corpus(tmp_path / "deep.xml"))
