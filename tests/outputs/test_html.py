import re
from html.parser import HTMLParser

import pytest
import spacy
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markupsafe import escape
from spacy.tokens import Span

from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.kb.ids import prefixes
from spacy_sapbert.outputs.html import render_page
from spacy_sapbert.outputs.pages import concept_url
from spacy_sapbert.pipeline.attributes import set_assertion, set_drug, set_links
from spacy_sapbert.text.notes.drugs import Drug
from spacy_sapbert.types import Alternative, Link, Name, Record

NLP = spacy.blank("en")
MESH = "https://meshb.nlm.nih.gov/record/ui?ui="
EVIL = "<script>alert('1')</script>\"'><img src=x onerror=alert(1)>&lt;{0}"
ATTRIBUTES = {
    "html": {"lang"},
    "meta": {"charset", "name", "content", "http-equiv"},
    "a": {"class", "data-assertion", "href", "id", "title"},
    "p": {"class", "dir"},
    "section": {"id"},
    "h2": {"id"},
    "nav": {"id", "aria-labelledby"},
    "th": {"scope"},
    "i": {"class"},
    "tr": {"id"},
    "td": {"data-name", "class"},
    "span": {"title"},
}
PLAIN = {
    *("head", "title", "style", "body", "header", "main", "h1", "p", "div", "small", "span", "bdi", "ol", "li"),
    *("table", "caption", "thead", "tbody", "tr"),
}


class Page(HTMLParser):
    """What a browser would find: tags with attributes, the cells of tables, addresses, and the text of each tag."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.cells, self.addresses, self.texts = [], [], [], {}
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, {name for name, _ in attributes}))
        self.addresses += [value for name, value in attributes if name == "href"]
        if tag == "td":
            self.cells.append("")
        self.texts.setdefault(tag, []).append("")

    def handle_data(self, data):
        if self.tags[-1:] and self.cells:
            self.cells[-1] += data
        if self.tags:
            self.texts[self.tags[-1][0]][-1] += data


def linked(text, label="Disease", kb_id="D001943", links=(), doc_id=""):
    doc = NLP.make_doc(text)
    doc.ents = [Span(doc, 0, len(doc), label=label, kb_id=kb_id)]
    set_links(doc.ents[0], links)
    doc.user_data["doc_id"] = doc_id
    return doc


def check(page):
    parsed = Page(page)
    for tag, attributes in parsed.tags:
        assert tag in PLAIN or tag in ATTRIBUTES
        assert attributes <= ATTRIBUTES.get(tag, set())
    assert all(address.startswith(("https://", "http://", "#")) for address in parsed.addresses)
    return parsed


@pytest.fixture(scope="module")
def evil_kb(tmp_path_factory):
    record = Record(f"OMIM:{EVIL}", (Name(EVIL, "preferred", "x"),))
    return build_knowledge_base([record], tmp_path_factory.mktemp("evil") / "evil.kb")


def test_page_of_a_composite_mention(small_kb):
    links = [
        Link("breast cancer", "D001943", 0.98765, "breast cancer", None, True, None, 0.91234),
        Link(
            *("ovary thing", None, 0.3, "ovarian cancer", None, True, "best score 0.30 is not above the threshold"),
            rejected=Alternative("D010051", 0.3, "ovarian cancer"),
        ),
    ]
    doc = linked("breast cancer and ovary thing", links=links, doc_id="42")
    parsed = check(render_page([doc], small_kb, "My page"))
    assert [text.strip() for text in parsed.texts["title"] + parsed.texts["h1"]] == ["My page"] * 2
    assert [text.strip() for text in parsed.texts["h2"]] == ["42"]
    assert [cell.strip() for cell in parsed.cells] == [
        *("breast cancer and ovary thingbreast cancer", "Disease", "Breast NeoplasmsD001943 · Disease"),
        *("breast cancer", "0.988", "0.912", ""),
        *("breast cancer and ovary thingovary thing", "Disease", "not linked", "ovarian cancer", "0.300", ""),
        "best score 0.30 is not above the thresholdbest: Ovarian Neoplasms (D010051) 0.300",
    ]
    assert parsed.addresses == ["#d1m1", "#d1m1t", f"{MESH}D001943", "#d1m1t", f"{MESH}D010051"]
    # a column without values is left out
    columns = ["Mention", "Label", "Concept", "Matched name", "Score", "Probability", "Why"]
    assert [text.strip() for text in parsed.texts["th"]] == columns


def test_the_page_says_how_a_tie_was_decided(small_kb):
    link = Link("cold", "D003080", 1.0, "cold", tie="same score as D003139; chosen because <its preferred name>")
    assert check(render_page([linked("cold", links=[link])], small_kb, "t")).cells[-1].strip() == link.tie


def test_marks_lead_to_the_row_of_the_table_and_show_the_names(small_kb):
    links = [Link("a", "D001943", 1.0, "a", None, True), Link("b", "D010051", 1.0, "b", None, True)]
    doc = linked("a and b", kb_id="D001943|D010051", links=links)
    page = render_page([linked("x"), doc], small_kb, "t")
    mark = '<a class="mention c0" id="d2m1t" href="#d2m1" title="Breast Neoplasms + Ovarian Neoplasms">'
    assert f"{mark}<bdi>a and b</bdi></a>" in page
    assert page.count('id="d2m1"') == 1
    assert page.count('href="#d2m1t"') == 2  # each of the two rows leads back to the text


def test_several_documents_have_a_list_of_contents(small_kb):
    docs = [linked("x", doc_id=f"<{number}>") for number in range(3)]
    page = check(render_page(docs, small_kb, "t"))
    found = [address for address in page.addresses if re.fullmatch(r"#(contents|d\d)", address)]
    assert found == ["#contents", "#d1", "#d2", "#d3"]
    assert "contents" not in render_page(docs[:1], small_kb, "t")


def test_semantic_types_are_shown_as_words(tmp_path):
    kb = build_knowledge_base([Record("C0000001", (Name("x", "preferred", "S"),), types=("T047",))], tmp_path / "x.kb")
    page = check(render_page([linked("x", links=[Link("x", "C0000001", 1.0, "x")])], kb, "t"))
    assert page.cells[2] == "xC0000001 · Disease or Syndrome"


def test_long_form_and_long_name_are_shown(small_kb):
    doc = linked("CF", links=[Link("Cystic fibrosis", "D003550", 1.0, "Cystic Fibrosis", "Cystic fibrosis")])
    cells = [cell.strip() for cell in check(render_page([doc], small_kb, "t")).cells]
    assert cells[2:5] == ["Cystic FibrosisD003550 · Disease", "Cystic fibrosis", "Cystic Fibrosis"]


def test_overlapping_mentions_are_all_marked_and_in_the_table(small_kb):
    doc = NLP("breast cancer patients")
    doc.spans["all"] = [Span(doc, 0, 2, "A"), Span(doc, 0, 3, "B")]
    page = render_page([doc], small_kb, "t", spans_key="all")
    text, _, inner = page.partition("Inside other mentions: ")
    assert ">breast cancer patients</bdi></a></p>" in text
    assert inner.startswith('<a class="mention c0 nil" id="d1m1t" href="#d1m1"')
    assert [cell for cell in check(page).cells if cell.strip() in ("A", "B")] == ["A", "B"]


def test_labels_have_their_own_color_on_the_whole_page(small_kb):
    link = Link("x", "D001943", 1.0, "x")
    docs = [linked("x", label, links=[link]) for label in ("Disease", "Drug", "Disease")]
    page = render_page(docs, small_kb, "t")
    assert page.count('<a class="mention c0"') == 2 * page.count('<a class="mention c1"') == 4


def test_a_text_without_mentions(small_kb):
    page = render_page([NLP("nothing\n& more")], small_kb, "t")
    assert "No mention was found." in page
    assert "nothing\n&amp; more" in page
    assert check(page).texts["h2"][0].strip() == "Document 1"


def test_nothing_hostile_becomes_markup(evil_kb):
    links = [Link(EVIL, f"OMIM:{EVIL}", 1.0, EVIL, EVIL, True, EVIL)]
    doc = linked(EVIL, label=EVIL, kb_id=f"OMIM:{EVIL}", links=links, doc_id=EVIL)
    parsed = check(render_page([doc], evil_kb, EVIL))
    assert parsed.cells[:5] == [EVIL + EVIL, EVIL, f"{EVIL}OMIM:{EVIL}", EVIL, EVIL]
    assert parsed.texts["h2"][0].strip() == EVIL


@pytest.mark.parametrize(
    ("state", "shown"), [("stopped", "stopped"), ("active", "negated"), ("no medication", "negated")]
)
def test_the_state_of_a_drug_is_shown_in_place_of_its_flags(small_kb, state, shown):
    doc = linked("cold", "Chemical", links=[Link("cold", "D003139", 1.0, "cold")])
    set_assertion(doc.ents[0], ["negated"])
    set_drug(doc.ents[0], Drug(state, "", ""))
    page = render_page([doc], small_kb, "x")
    assert f'data-assertion="{shown}"' in page
    assert {"negated", state} <= set(check(page).cells)


def test_the_flags_of_a_mention_are_shown(small_kb):
    doc = linked("cold", links=[Link("cold", "D003139", 1.0, "cold")])
    assert "Assertion</th>" not in render_page([doc], small_kb, "x")
    set_assertion(doc.ents[0], ["negated", EVIL])
    page = render_page([doc], small_kb, "x")
    assert f'data-assertion="{escape(f"negated, {EVIL}")}"' in page
    assert check(page).cells[2] == f"negated, {EVIL}"


@settings(deadline=None)
@given(
    *[st.text(st.one_of(st.sampled_from("<>&\"'{}/=: a"), st.characters(exclude_categories=["Cs"])), min_size=1)] * 4
)
@example("<b>", "</mark>", "javascript:alert(1)", '"><script>')
def test_no_string_becomes_markup(small_kb, text, label, kb_id, name):
    links = [Link(text, kb_id, 0.5, name, name, True, name)]
    check(render_page([linked(text, label, kb_id, links, name)], small_kb, name))


def test_marks_of_direction_stay_inside_their_text(evil_kb):
    turned = "\u202eabc\u2066"
    link = Link(turned, f"OMIM:{turned}", 1.0, turned, runner_up=Alternative(turned, 0.5, turned))
    page = render_page([linked(f"{turned} x", links=[link])], evil_kb, "t")
    inline = re.findall(rf"(<\w+)[^<>]*>[^<>]*{turned}", page)
    assert set(inline) <= {"<bdi", "<small", "<div"}  # the latter two are blocks


def test_no_page_of_a_concept_runs_a_script():
    pages = [concept_url(f"{prefix}:javascript:alert(1)") for prefix in prefixes().pages]
    assert all(page.startswith(("https://", "http://")) for page in pages)


@pytest.mark.parametrize(
    ("concept_id", "address"),
    [
        *((concept_id, f"{MESH}{concept_id}") for concept_id in ("D009369", "C565588", "C000600000")),
        ("C0012634", "https://uts.nlm.nih.gov/uts/umls/concept/C0012634"),
        ("OMIM:145250", "https://omim.org/entry/145250"),
        ("HP:0000118", "https://hpo.jax.org/browse/term/HP:0000118"),
        ("DOID:1612", "https://disease-ontology.org/?id=DOID:1612"),
        ("ORPHA:558", "https://www.orpha.net/en/disease/detail/558"),
        ('OMIM:"><b>/..', "https://omim.org/entry/%22%3E%3Cb%3E%2F.."),
        *((concept_id, None) for concept_id in ("X:1", "javascript:alert(1)", "NIL", "")),
    ],
)
def test_addresses_of_concepts(concept_id, address):
    assert concept_url(concept_id) == address


@pytest.fixture
def doc():
    doc = NLP("breast and ovarian cancer, a rare thing and a zebra")
    doc.ents = [
        Span(doc, 0, 4, "Disease", kb_id="D001943|D010051"),
        Span(doc, 6, 8, "X<", kb_id="Q:<1>"),
        Span(doc, 10, 11, "A", kb_id="NIL"),
    ]
    set_links(doc.ents[0], [Link("a", "D001943", 1.0, "a", None, True), Link("b", "D010051", 1.0, "b", None, True)])
    doc.spans["all"] = [*doc.ents, Span(doc, 2, 4, "Disease", kb_id="HP:0000118")]
    return doc
