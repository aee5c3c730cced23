"""The page in a real browser, where there is one."""

import importlib.util
import json
from pathlib import Path

import pytest

pytest.importorskip("selenium")
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.expected_conditions import staleness_of
from selenium.webdriver.support.ui import WebDriverWait

SCRIPT = Path(__file__).parents[3] / "scripts" / "screenshot.py"
REQUEST = "Network.requestWillBeSent"
TEXT = "A boy with cystic fibrosis (CF).\nA cold, breast and ovarian cancer & a zebra."


@pytest.fixture(scope="module")
def browser():
    spec = importlib.util.spec_from_file_location("screenshot", SCRIPT)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    if script.missing_browser():
        pytest.skip("Chromium is not here; with Debian: apt-get install chromium chromium-driver")
    with script.open_browser(1200, 800) as opened:
        yield opened


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
def page(browser, port):
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
    assert "4 of 5" in page.find_element("css selector", "nav").text


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


@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_stands_out_at_the_side(page, width):
    page.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    )
    assert page.execute_script("return document.documentElement.scrollWidth") == width


def test_the_page_of_the_endpoints_has_its_style_and_asks_nothing_of_others(browser, port):
    browser.get_log("performance")
    browser.get_log("browser")
    browser.get(f"http://127.0.0.1:{port}/docs")
    assert browser.find_element("css selector", "h1").text.startswith("Endpoints of spacy-sapbert")
    assert browser.find_element("css selector", "table").value_of_css_property("border-collapse") == "collapse"
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {message["params"]["request"]["url"] for message in messages if message["method"] == REQUEST}
    assert asked <= {f"http://127.0.0.1:{port}/docs", "data:,"}
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("width", [360, 1200])
def test_wide_tables_of_the_endpoints_scroll(browser, port, width):
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    )
    browser.get(f"http://127.0.0.1:{port}/docs")
    assert browser.execute_script("return document.documentElement.scrollWidth") == width


def test_the_page_of_the_endpoints_is_accessible(browser, port):
    axe_core_python = pytest.importorskip("axe_core_python")
    browser.get(f"http://127.0.0.1:{port}/docs")
    source = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text(encoding="utf8")
    browser.execute_cdp_cmd("Runtime.evaluate", {"expression": source})  # which no policy forbids
    run = "axe.run().then(found => JSON.stringify(found.violations.map(rule => rule.id)))"
    answer = browser.execute_cdp_cmd("Runtime.evaluate", {"expression": run, "awaitPromise": True})
    assert json.loads(answer["result"]["value"]) == []


def test_without_scripts_all_cards_stand_below_each_other(browser, port):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        link(browser, port)
        assert len(shown(browser)) == 5
        mention(browser, "zebra").click()
        assert browser.current_url.endswith("#m5")
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
