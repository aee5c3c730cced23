"""What stands on the page."""

import re
from html import unescape

import pytest
from spacy.tokens import Span

from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.outputs.records import LinkedDocument
from spacy_sapbert.pipeline.attributes import set_assertion, set_composite_splits, set_kb_ents, set_links
from spacy_sapbert.serve.page import Page, reasons_of
from spacy_sapbert.types import Alternative, Document, Link, Name, Record

from .conftest import EVIL


@pytest.fixture
def page(web_kb):
    return Page(web_kb, "tiny", 1000)


@pytest.fixture
def show(page, linking):
    """A function that gives the texts of the cards of a text."""

    def render(text):
        return words(render_linked(page, linking, text))

    return render


def render_linked(page, linking, text, *rest):
    return next(linking([Document("", text)], lambda item: page.render(text, item, *rest)))


def words(html):
    """RETURNS (list[str]): the text of each card, without tags and with single blanks."""
    cards = re.findall(r'<article id="m\d+".*?</article>', html, flags=re.DOTALL)
    return [unescape(" ".join(re.sub(r"<[^>]*>", " ", card).split())) for card in cards]


def linked(nlp, text, *links, kb_ents=(), composite_splits=(), label="Disease"):
    doc = nlp.make_doc(text)
    doc.ents = [Span(doc, 0, len(doc), label=label)]
    mention = doc.ents[0]
    set_links(mention, links)
    set_kb_ents(mention, kb_ents)
    set_composite_splits(mention, composite_splits)
    return LinkedDocument(Document("", text), doc, [mention])


def test_an_abbreviation_is_explained(show):
    *_, card = show("Cystic fibrosis (CF). All CF was mild.")
    assert card.startswith("CF Disease CF stands for Cystic fibrosis , as defined in the text. Cystic Fibrosis D003550")
    assert "Looked up as Cystic fibrosis" in card


def test_a_composite_is_explained(show):
    (card,) = show("breast and ovarian cancer")
    assert "Split into breast cancer + ovarian cancer . The parts fit the vocabulary better than the whole." in card
    assert "Other possible splits: breast + ovarian cancer ." in card
    assert "breast cancer → Breast Neoplasms D001943 · Disease" in card
    assert "Concept Matched name Score Prob. Breast Neoplasms D001943 breast cancer 1.00" in card
    assert "ovarian cancer → Ovarian Neoplasms D010051" in card


def test_what_is_not_linked_says_why(show, page, linking):
    (card,) = show("zebra")
    assert card.startswith("zebra Disease Not linked Probability 0.")
    assert "Candidates Concept Matched name Score" in card
    html = render_linked(page, linking, "a zebra with a cold")
    assert '<a class="mention c0 nil" href="#m1"><bdi>zebra</bdi></a>' in html
    assert "not linked 1" in html


def test_the_first_candidate_and_the_next_are_compared(show):
    (card,) = show("cold")
    scores = re.search(r"Common Cold D003139 cold 1.00 (0.\d\d) cold D003080 cold 1.00 (0.\d\d)", card)
    assert scores
    assert float(scores[1]) >= float(scores[2])
    assert card.endswith("Same score as D003080; chosen because its type fits the label.")


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (0.5, "Chosen because its name fits best: 0.90 against 0.50."),
        (0.8999, "Both fit almost equally well. The difference of the scores is only 0.00010."),
        (0.9, "Both have the same score."),
    ],
)
def test_the_scores_are_compared_in_words(other, why):
    link = Link("CF", "D003550", 0.9, "CF", runner_up=Alternative("X:1", other, "x"))
    assert list(reasons_of(link)) == [why]
    assert list(reasons_of(link._replace(reasons=("its number fits",)))) == ["Its number fits."]


def test_what_the_vocabulary_says_is_on_the_card(tmp_path, web_nlp):
    names = tuple(Name(f"name {row}", "exact", "S") for row in range(6))
    child = Record("D000002", names, ("DOID:9",), ("T047",), "word " * 60, ("D000001",), ("ICD10CM:C50",))
    parent = Record("D000001", (Name("the parent", "preferred", "S"),))
    page = Page(build_knowledge_base([parent, child], tmp_path / "x.kb"), "x", 100)
    html = page.render("", linked(web_nlp, "x", Link("x", "D000002", 0.9, "name 1")))
    (card,) = words(html)
    assert "name 0 D000002 · Disease or Syndrome word" in card
    assert (
        "Synonyms name 1 , name 2 , name 3 2 more name 4 , name 5 Parents the parent Other codes DOID:9 , ICD10" in card
    )
    assert 'href="https://meshb.nlm.nih.gov/record/ui?ui=D000001"' in html
    assert "… more" in card


def test_a_mention_that_was_not_split(page, web_nlp):
    item = linked(web_nlp, "CF and cold", Link("CF and cold", "D003550", 0.9, "CF"), composite_splits=[("CF", "cold")])
    assert "Not split. Possible splits: CF + cold ." in words(page.render("", item))[0]


def test_flags_of_a_mention_are_shown(page, web_nlp):
    item = linked(web_nlp, "CF", Link("CF", "D003550", 0.9, "CF"))
    assert "Flagged" not in words(page.render("", item))[0]
    set_assertion(item.mentions[0], ["negated", "family"])
    assert "Flagged as negated, family ." in words(page.render("", item))[0]


def test_a_calibrated_probability_is_shown(page, web_nlp):
    html = page.render("", linked(web_nlp, "CF", Link("CF", "D003550", 0.9, "CF", probability=0.75)))
    assert words(html)[0].endswith("Score Prob. Cystic Fibrosis D003550 CF 0.90 0.75")


def test_concepts_that_the_vocabulary_does_not_have_are_shown_by_their_ids(page, web_nlp):
    item = linked(web_nlp, "x", Link("x", "X:1", 1.5, "x"), kb_ents=[("X:1", 1.5), ("HP:9", -0.5)])
    html = page.render("", item)
    assert "x Disease X:1 X:1 Candidates Concept Matched name Score X:1 x 1.50 HP:9 HP:9 -0.50" in words(html)[0]
    assert re.findall(r'href="(http[^"]*)', html) == ["https://hpo.jax.org/browse/term/HP:9"]


def test_mentions_that_overlap_all_have_a_card(page, web_nlp):
    doc = web_nlp.make_doc("breast cancer patients")
    mentions = [Span(doc, 0, 2, "A"), Span(doc, 0, 3, "B")]
    html = page.render("", LinkedDocument(Document("", doc.text), doc, mentions))
    whole = '<a class="mention c1 nil" href="#m2"><bdi>breast cancer patients</bdi></a>'
    inner = '<a class="mention c0 nil" href="#m1"><bdi>breast cancer</bdi></a>'
    assert f'<p class="text" dir="auto">{whole}</p>' in html
    assert f'<p class="unmarked">Inside other mentions: {inner}</p>' in html


def test_a_text_without_mentions(page, web_nlp):
    doc = web_nlp.make_doc("nothing\n& more")
    html = page.render(doc.text, LinkedDocument(Document("", doc.text), doc, []))
    assert "No mention was found." in html
    assert '<p class="text" dir="auto">nothing\n&amp; more</p>' in html


def test_a_line_at_the_beginning_is_kept(page):
    assert "\n\n\ntwo lines above</textarea>" in page.render("\n\ntwo lines above")


def test_nothing_hostile_becomes_markup(page, web_nlp, linking):
    plain = render_linked(page, linking, "a cold")
    scripts = plain.count("<script>")
    from_vocabulary = render_linked(page, linking, f"{EVIL} hostile {EVIL}", EVIL)
    link = Link(EVIL, f"OMIM:{EVIL}", 1.0, EVIL, EVIL, True, EVIL, tie=EVIL)
    from_links = page.render(
        EVIL, linked(web_nlp, EVIL, link, composite_splits=[(EVIL,)], kb_ents=[(EVIL, 1)], label=EVIL)
    )
    for html in (from_vocabulary, from_links):
        assert "alert(&#39;1&#39;)" in html
        assert html.count("<script>") == html.count("</script>") == scripts == 1
        assert "alert('1')" not in html


def test_no_link_runs_a_script(page, web_nlp):
    bad = "javascript:alert(1)"
    html = page.render(
        "", linked(web_nlp, "x", Link("x", bad, 1.0, bad), kb_ents=[(bad, 1.0), ("data:text/html,x", 0.9)])
    )
    assert set(re.findall(r"href=\"([^#\"]*)", html)) == {"data:,", ""}  # the empty icon, and links to cards


def test_marks_of_direction_stay_inside_their_text(page, web_nlp):
    turned = "\u202eabc\u2066"
    link = Link(turned, turned, 1.0, turned, turned, True, runner_up=Alternative(turned, 0.5, turned))
    others = {"kb_ents": [("X:1", 0.9)], "composite_splits": [(turned, "x")], "label": turned}
    html = page.render("", linked(web_nlp, f"{turned} x", link, **others))
    assert set(re.findall(rf"(<\w+)[^<>]*>[^<>]*{turned}", html)) == {"<bdi"}


def test_nothing_hostile_becomes_an_event_handler(page, web_nlp):
    bad = 'x" onmouseover="alert(1)" onfocus=\'alert(2)\' autofocus'
    html = page.render(bad, linked(web_nlp, bad, Link(bad, f"OMIM:{bad}", 1.0, bad, bad, tie=bad), label=bad))
    assert not re.findall(r"<[^>]*\s(?:on\w+|autofocus)\b[^>]*>", re.sub(r"<script>.*</script>", "", html, flags=re.S))
