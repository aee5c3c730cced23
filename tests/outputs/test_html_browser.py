"""The HTML page of links in a real browser, where there is one."""

import pytest
import spacy
from spacy.tokens import Span

from spacy_sapbert.outputs.html import render_page
from spacy_sapbert.pipeline.attributes import set_links
from spacy_sapbert.types import Alternative, Link

LONG = "pneumonoultramicroscopicsilicovolcanoconiosis" * 3


@pytest.fixture(scope="module")
def address(small_kb, tmp_path_factory):
    """The address of a page of two documents, one of which has 500 mentions."""
    nlp = spacy.blank("en")
    docs = [nlp("breast cancer is no zebra " * times) for times in (3, 250)]
    link = Link("breast cancer", "D001943", 0.9, LONG, runner_up=Alternative("D010051", 0.5, "ovarian cancer"))
    nil = Link("zebra", None, 0.3, "zebra", reason="best score 0.30 is not above the threshold 0.85")
    for doc in docs:
        spans = [
            Span(doc, first + at, first + end, name) for first in range(0, len(doc), 5) for at, end, name in PLACES
        ]
        doc.ents = spans
        for mention in doc.ents:
            set_links(mention, [link if mention.label_ == "Disease" else nil])
    page = tmp_path_factory.mktemp("page") / "links.html"
    page.write_text(render_page(docs, small_kb, "Links"), encoding="utf8")
    return page.as_uri()


PLACES = [(0, 2, "Disease"), (4, 5, "Species")]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_everyone_can_use_the_page(screen, browser, faults, address, width, dark):
    screen(width, 800, dark=dark)
    browser.get(address)
    browser.execute_script("document.querySelector('#d2').remove()")  # the same again, which takes time
    assert faults() == []
    assert browser.execute_script("return document.documentElement.scrollWidth") == width


def test_a_mention_leads_to_its_row_and_back(screen, browser, address):
    screen(390, 800)
    browser.get(address)
    browser.find_elements("css selector", "#d2 .text .mention")[-1].click()
    assert browser.current_url.endswith("#d2m500")
    row = browser.find_element("css selector", "tr:target")
    assert 0 <= browser.execute_script("return arguments[0].getBoundingClientRect().top", row) < 800
    row.find_element("css selector", ".mention").click()
    assert browser.current_url.endswith("#d2m500t")
    browser.find_element("link text", "List of documents").click()
    assert browser.current_url.endswith("#contents")
