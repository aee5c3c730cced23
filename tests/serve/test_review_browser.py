"""A review in a real browser, with the keyboard: 30 links, two windows, and a narrow screen."""

import socket
import threading
from itertools import product

import pytest
import spacy
import uvicorn
from rich.console import Console

pytest.importorskip("selenium")
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from spacy_sapbert.documents.input_documents import Problems, ReadOptions, read_documents
from spacy_sapbert.kb.build import build_knowledge_base
from spacy_sapbert.review.corrections_file import CorrectionsFile
from spacy_sapbert.runs.document_linker import LinkingPipeline, LinkSettings
from spacy_sapbert.serve.review_app import make_review_app
from spacy_sapbert.serve.review_session import ReviewSession
from spacy_sapbert.types import Name, Record

GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi"
NAMES = [f"{word} fever" for word in f"{GREEK} chi psi omega aleph beth gimel daleth waw zayin heth yodh".split()]
EVIL = "<img src=x onerror=alert(1)>"
MISSED = "river blindness"
N = 30


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory):
    """A saved pipeline that finds the fevers, each its own concept."""
    folder = tmp_path_factory.mktemp("review")
    records = [
        Record(f"X:{number}", (Name(name, "preferred", "x"),), types=("Disease",), definition=f"The fever {EVIL}")
        for number, name in enumerate([*NAMES, "onchocerciasis"])
    ]
    kb = build_knowledge_base(records, folder / "fevers.kb")
    nlp = spacy.blank("en")
    nlp.add_pipe("concept_matcher", config={"kb": str(kb.path)})
    nlp.add_pipe("sapbert_linker", config={"kb": str(kb.path), "encoder": "none"})
    nlp.to_disk(folder / "pipeline")
    return folder / "pipeline"


@pytest.fixture
def notes(tmp_path):
    """One note per fever. The emoji has two UTF-16 units, so places are counted right only in characters."""
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in NAMES[:N]:
        text = f"\U0001f600 {EVIL} She had {name} and {MISSED}, after {NAMES[0]} of old."
        (folder / f"{name}.txt").write_text(text, encoding="utf8")
    return folder


@pytest.fixture
def page(browser, wait, pipeline, notes, tmp_path):
    """The address of the review page, whose server runs in a thread."""
    linking = LinkingPipeline(LinkSettings(str(pipeline)), Problems(Console(quiet=True)))
    documents = read_documents(notes, ReadOptions(None), linking.problems)
    records = list(linking(documents))
    file = CorrectionsFile(tmp_path / "c.db", create=True)
    app = make_review_app(ReviewSession(file, linking, records, corpus="notes", author="Ann"))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/{file.secret}/"
        # keys reach the page although other windows may have the focus
        browser.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
        browser.get(address)
        wait(lambda: text_of(browser, "#mention"))
        yield address
        server.should_exit = True
        thread.join()


@pytest.fixture
def wait(browser):
    """A function that waits until the page fulfils a condition."""
    return lambda condition: WebDriverWait(browser, 20).until(lambda _: condition())


@pytest.fixture
def press(browser):
    """A function that presses keys, one after the other."""
    return lambda *keys: ActionChains(browser).send_keys(*keys).perform()


def text_of(browser, css):
    return browser.find_element("css selector", css).text


def decided(browser):
    """RETURNS (int): how many mentions the page shows as decided."""
    return int(browser.find_element("id", "progress").get_property("value"))


def test_keys_decide(browser, wait, press, page, tmp_path):
    for key in "an1":
        before = decided(browser)
        press(key)
        wait(lambda before=before: decided(browser) > before)
    actions = [correction.action for correction in CorrectionsFile(tmp_path / "c.db").corrections().values()]
    assert actions == ["accept", "no_mention", "replace"]


def test_two_windows_and_undo(browser, wait, press, page):
    first, shown = browser.current_window_handle, text_of(browser, "#mention")
    browser.switch_to.new_window("window")
    try:
        browser.get(page)
        wait(lambda: text_of(browser, "#mention"))
        other = text_of(browser, "#mention")
        assert other != shown
        press("a")
        wait(lambda: text_of(browser, "#mention") != other)
        browser.switch_to.window(first)
        press("a")
        wait(lambda: text_of(browser, "#mention") != shown)
        assert decided(browser) == N + 2  # the first text stands in every note, and in one of them twice
        assert len(browser.find_elements("css selector", "#recent li")) == 2
        press("u")
        wait(lambda: decided(browser) == 1)
        assert text_of(browser, "#mention") == shown
    finally:
        # the second window must not keep the keys of the tests that follow
        for window in set(browser.window_handles) - {first}:
            browser.switch_to.window(window)
            browser.close()
        browser.switch_to.window(first)


def test_a_missed_mention_is_marked_with_the_keyboard(browser, wait, press, page, pipeline, tmp_path):
    press("s", "m")  # this text everywhere
    while text_of(browser, "#marked") != "Chosen: river":
        press(Keys.ARROW_LEFT)
    ActionChains(browser).key_down(Keys.SHIFT).send_keys(Keys.ARROW_RIGHT).key_up(Keys.SHIFT).perform()
    assert text_of(browser, "#marked") == f"Chosen: {MISSED}"
    press(Keys.ENTER)
    wait(lambda: browser.find_element("id", "search").get_property("open"))
    query = browser.find_element("id", "query")
    query.clear()
    query.send_keys("onchoc")
    wait(lambda: "onchocerciasis" in text_of(browser, "#found"))
    wait(lambda: EVIL in text_of(browser, "#preview"))
    query.send_keys(Keys.ENTER)
    wait(lambda: text_of(browser, "#said").startswith(f"{MISSED}: added: onchocerciasis (X:32)"))
    assert MISSED in text_of(browser, "#text .added")
    (one,) = CorrectionsFile(tmp_path / "c.db").corrections().values()
    assert (one.text, one.concept_ids, one.scope, one.label) == (MISSED, ("X:32",), "everywhere", "Disease")
    nlp = spacy.load(pipeline)
    for name in nlp.pipe_names:
        nlp.get_pipe(name).set_corrections(str(tmp_path / "c.db"))
    assert [ent.kb_id_ for ent in nlp(f"Another one with {MISSED.title()}.").ents] == ["X:32"]


def test_rejecting_says_what_is_linked_instead(browser, wait, press, page):
    instead = text_of(browser, "#candidates li:first-child bdi")
    press("r")
    wait(lambda: f"rejected: {NAMES[0]}" in text_of(browser, "#said"))
    assert f"The next candidate, {instead} (X:" in text_of(browser, "#said")


def test_keys_decide_after_esc(browser, wait, press, page):
    """While a text is chosen, a key of a decision says why it decides nothing."""
    press("m", "a")
    assert "cancel with Esc" in text_of(browser, "#said")
    press(Keys.ESCAPE, "m", Keys.ENTER)
    wait(lambda: browser.find_element("id", "search").get_property("open"))
    press(Keys.ESCAPE)
    wait(lambda: not browser.find_element("id", "search").get_property("open"))
    assert not decided(browser)
    wait(lambda: not browser.find_element("id", "marking").is_displayed())
    press("a")
    wait(lambda: decided(browser))


def test_enter_takes_the_concept_of_the_typed_text(browser, wait, press, page, tmp_path):
    press("f")
    wait(lambda: text_of(browser, "#found"))
    query = browser.find_element("id", "query")
    query.clear()
    query.send_keys("onchoc", Keys.ENTER)  # before there is an answer
    wait(lambda: "replaced" in text_of(browser, "#said"))
    (one,) = CorrectionsFile(tmp_path / "c.db").corrections().values()
    assert one.concept_ids == ("X:32",)


def test_a_marked_text_that_contains_the_mention(browser, wait, press, page, tmp_path):
    shown = text_of(browser, "#mention")
    press("m")
    ActionChains(browser).key_down(Keys.SHIFT).send_keys(Keys.ARROW_RIGHT * 2).key_up(Keys.SHIFT).perform()
    comment = browser.find_element("id", "comment")
    comment.send_keys("xy", Keys.ARROW_LEFT, "z")  # its keys are not those of marking
    assert comment.get_property("value") == "xzy"
    browser.find_element("css selector", "[data-do=mark-done]").click()
    wait(lambda: browser.find_element("id", "search").get_property("open"))
    browser.find_element("css selector", "[data-do=search-done]").click()
    wait(lambda: text_of(browser, "#state") == "Decided: an added mention takes its place")
    assert text_of(browser, "#said").startswith(f"{shown} ")
    (one,) = CorrectionsFile(tmp_path / "c.db").corrections().values()
    assert one.comment == "xzy"


def test_a_selection_is_widened_to_words_and_ends_the_marking(browser, wait, press, page):
    select = """
        const walker = document.createTreeWalker(document.getElementById("text"), NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
          const at = walker.currentNode.data.indexOf("iver blind");
          if (at >= 0) getSelection().setBaseAndExtent(walker.currentNode, at, walker.currentNode, at + 10);
        }
    """
    browser.execute_script(select)
    wait(lambda: text_of(browser, "#marked") == f"Chosen: {MISSED}")
    browser.execute_script("getSelection().removeAllRanges()")
    wait(lambda: not browser.find_element("id", "marking").is_displayed())
    press("a")
    wait(lambda: decided(browser))


def test_every_screen_and_everybody(browser, wait, page, screen, faults):
    # the policy of the page allows no script but its own
    browser.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
    try:
        for width, dark in product((390, 1280), (False, True)):
            screen(width, 800, dark=dark)
            browser.get(page)
            wait(lambda: text_of(browser, "#mention"))
            for opened, by in (("", ""), ("#search", "replace"), ("#help", "help")):
                # by script: a browser without a window now and then loses a key on a busy machine
                browser.execute_script("document.querySelector(arguments[0])?.click()", f"[data-do='{by}']")
                wait(lambda opened=opened: not opened or browser.find_elements("css selector", f"{opened}[open]"))
                assert browser.execute_script("return document.documentElement.scrollWidth") == width
                assert faults() == []
                browser.execute_script("document.querySelector('dialog[open]')?.close()")
            name = browser.find_element("css selector", "#candidates li:first-child button > span")
            assert name.rect["width"] > 200
            browser.execute_script("document.querySelector('[data-do=accept]').click()")
            wait(lambda: "accepted" in text_of(browser, "#said"))
    finally:
        browser.execute_cdp_cmd("Page.setBypassCSP", {"enabled": False})
