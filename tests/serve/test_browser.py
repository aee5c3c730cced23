"""The page in a real browser, where there is one."""

import json

import pytest

pytest.importorskip("selenium")
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.expected_conditions import staleness_of
from selenium.webdriver.support.ui import WebDriverWait

from spacy_sapbert.serve.page import Page
from spacy_sapbert.types import Document

REQUEST = "Network.requestWillBeSent"
TEXT = "A boy with cystic fibrosis (CF).\nA cold, breast and ovarian cancer & a zebra."


def link(browser, port):
    """Type TEXT, and have it linked."""
    browser.get(f"http://127.0.0.1:{port}/")
    area = browser.find_element("id", "text")
    area.clear()
    area.send_keys(TEXT)
    button = browser.find_element("css selector", "form button")
    button.click()
    # while the page changes, Chromium may answer with an error of its own
    WebDriverWait(browser, 30, ignored_exceptions=[WebDriverException]).until(staleness_of(button))
    WebDriverWait(browser, 30).until(lambda browser: browser.find_element("css selector", ".card"))


@pytest.fixture
def page(screen, browser, port):
    screen(1200, 800)
    for log in ("performance", "browser"):
        browser.get_log(log)  # forgets what other tests did
    link(browser, port)
    return browser


def mention(page, text):
    return page.find_element("link text", text)


def shown(page):
    """RETURNS (list[str]): the headings of the cards that can be seen."""
    return [card.text.splitlines()[0] for card in page.find_elements("css selector", ".card") if card.is_displayed()]


def test_a_mention_that_is_pointed_at_clicked_or_focused_shows_its_card(page):
    assert page.find_element("css selector", ".text").text == TEXT
    assert shown(page) == ["cystic fibrosis Disease"]
    mention(page, "zebra").click()
    assert shown(page) == ["zebra Disease"]
    assert "#" not in page.current_url
    ActionChains(page).move_to_element(mention(page, "cold")).perform()
    WebDriverWait(page, 5).until(lambda page: shown(page) == ["cold Disease"])
    mention(page, "CF").send_keys(Keys.TAB)
    assert shown(page) == ["cold Disease"]
    page.find_element("css selector", "[aria-label='Next mention']").click()
    assert shown(page) == ["breast and ovarian cancer Disease"]
    assert "Ovarian Neoplasms" in page.find_element("css selector", ".card.current").text
    assert "4 of 5" in page.find_element("css selector", ".steps").text


def test_the_keyboard_leads_into_the_card_and_back(page):
    mention(page, "CF").send_keys(Keys.ENTER)
    page.switch_to.active_element.send_keys(Keys.TAB)
    assert page.switch_to.active_element.text == "D003550"
    page.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert page.switch_to.active_element.text == "CF"


def test_nothing_is_asked_of_others_and_nothing_is_wrong(page, port):
    messages = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    asked = [message["params"]["request"]["url"] for message in messages if message["method"] == REQUEST]
    assert asked
    assert all(url.startswith((f"http://127.0.0.1:{port}/", "data:")) for url in asked)
    assert page.get_log("browser") == []


@pytest.fixture
def phone(screen, browser, port):
    """The page on a narrow screen."""
    screen(390, 844)
    link(browser, port)
    return browser


def test_on_a_narrow_screen_the_card_is_a_sheet(phone):
    assert shown(phone) == []
    sheet = phone.find_element("css selector", ".cards")
    tapped = mention(phone, "cold")
    tapped.click()
    assert shown(phone) == ["cold Disease"]
    assert tapped.get_attribute("aria-expanded") == "true"
    assert tapped.rect["y"] + tapped.rect["height"] - phone.execute_script("return scrollY") <= sheet.rect["y"]
    phone.find_element("css selector", "[aria-label='Close the card']").click()
    assert shown(phone) == []
    assert phone.switch_to.active_element == tapped
    tapped.click()
    phone.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert (shown(phone), phone.switch_to.active_element) == ([], tapped)
    tapped.click()
    phone.find_element("css selector", ".legend").click()
    assert (shown(phone), tapped.get_attribute("aria-expanded")) == ([], "false")


def test_keys_lead_from_mention_to_mention(page):
    mention(page, "CF").send_keys("n")
    assert page.switch_to.active_element.text == "cold"
    page.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert page.switch_to.active_element.text == "breast and ovarian cancer"
    page.switch_to.active_element.send_keys("p", Keys.ARROW_LEFT, "p", "p")
    assert page.switch_to.active_element.text == "zebra"
    assert shown(page) == ["zebra Disease"]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_everyone_can_use_the_page(screen, browser, port, faults, width, dark):
    screen(width, 800, dark=dark)
    link(browser, port)
    for text in ("breast and ovarian cancer", "zebra"):
        browser.execute_script("arguments[0].click()", mention(browser, text))
        assert faults() == []
        assert browser.execute_script("return document.documentElement.scrollWidth") == width


def test_of_many_mentions_only_one_card_is_laid_out(browser, port, linking, tmp_path):
    text = "A cold, a zebra and CF. " * 167
    page, many = tmp_path / "many.html", Page(linking.kb, "many", len(text))
    html = next(linking([Document("", text)], lambda item: many.render(text, item)))
    page.write_text(html, encoding="utf8")
    browser.get(page.as_uri())
    browser.find_elements("css selector", ".mention")[400].click()
    laid_out = "return [...document.querySelectorAll('.card')].map((card) => card.offsetHeight > 0)"
    assert [place for place, seen in enumerate(browser.execute_script(laid_out)) if seen] == [400]


def test_without_scripts_all_cards_stand_below_each_other(screen, browser, port):
    screen(1200, 800)
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        link(browser, port)
        assert len(shown(browser)) == 5
        mention(browser, "zebra").click()
        assert browser.current_url.endswith("#m5")
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
