"""Take the pictures of all pages that the documentation shows.

    python scripts/screenshot.py docs/screens

It needs Chromium with its driver (Debian: apt-get install chromium chromium-driver) and selenium. To add a picture, add
a row to `PICTURES`; to add a page, write a function that opens it.
"""

import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

WIDE, NARROW = (1280, 800), (390, 844)
COMPOSITE = "breast and ovarian cancer"


def missing_browser() -> bool:
    """Return whether Chromium or its driver is missing."""
    return not (shutil.which("chromium") and shutil.which("chromedriver"))


@contextmanager
def open_browser(width: int, height: int) -> Iterator[Any]:
    """Yield a browser without a window that reaches only this machine."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    options.add_argument("--headless=new")
    options.add_argument("--hide-scrollbars")
    options.add_argument("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1")
    if os.geteuid() == 0:  # in containers; Chromium has no sandbox for root
        options.add_argument("--no-sandbox")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        set_screen(browser, width, height)
        yield browser
    finally:
        browser.quit()


def set_screen(browser: Any, width: int, height: int, *, dark: bool = False) -> None:
    """Give the browser a screen of this size, in light or in dark mode."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


@contextmanager
def serving(*command: str) -> Iterator[str]:
    """Yield the address of a server that a command of `spacy-sapbert` starts."""
    command = (sys.executable, "-m", "spacy_sapbert", *command, "--port", "0")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            yield next(line.split()[0] for line in server.stderr if line.startswith("http://"))
        finally:
            server.terminate()


class Pages(NamedTuple):
    """The addresses of the pages."""

    serve: str
    demo: str
    review: str


@contextmanager
def opened_pages() -> Iterator[Pages]:
    """Yield the addresses of all pages, while they can be reached."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        page, pipeline, notes = folder / "demo.html", folder / "pipeline", folder / "notes"
        for command in (["demo", "--output", str(page)], ["assemble", "--output", str(pipeline)]):
            subprocess.run([sys.executable, "-m", "spacy_sapbert", *command], check=True, stdout=subprocess.DEVNULL)
        write_notes(notes)
        review = ("review", str(pipeline), str(notes), "-c", str(folder / "c.db"), "--no-browser", "--author", "Ann")
        with serving("serve") as served, serving(*review) as reviewed:
            yield Pages(served, page.as_uri(), reviewed)


def write_notes(folder: Path) -> None:
    """Write notes for the review, from the text of `demo`."""
    from spacy_sapbert.cli.link import TEXT

    folder.mkdir()
    for number, sentence in enumerate(TEXT.split(". "), start=1):
        (folder / f"note-{number}.txt").write_text(f"{sentence}.\n{TEXT}\n", encoding="utf8")


# Each function opens a page, and prepares what a picture shows.


def text(browser: Any, pages: Pages) -> None:
    browser.get(pages.serve)


def card(browser: Any, pages: Pages) -> None:
    browser.get(pages.serve)
    browser.find_element("link text", COMPOSITE).click()


def table(browser: Any, pages: Pages) -> None:
    browser.get(pages.demo)


def decision(browser: Any, pages: Pages) -> None:
    browser.get(pages.review)
    wait_for(browser, "#text .current")


def search(browser: Any, pages: Pages) -> None:
    decision(browser, pages)
    browser.find_element("css selector", "[data-do=replace]").click()
    wait_for(browser, "#found li")


def wait_for(browser: Any, css: str) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 20).until(lambda _: browser.find_elements("css selector", css))


class Picture(NamedTuple):
    """A picture: what it shows, on which screen."""

    prepare: Callable[[Any, Pages], None]
    screen: tuple[int, int]
    dark: bool = False


PICTURES = {
    "serve-1280": Picture(card, WIDE),
    "serve-1280-dark": Picture(card, WIDE, dark=True),
    "serve-390": Picture(text, NARROW),
    "serve-390-card": Picture(card, NARROW),
    "serve-390-card-dark": Picture(card, NARROW, dark=True),
    "demo-1280": Picture(table, WIDE),
    "demo-1280-dark": Picture(table, WIDE, dark=True),
    "demo-390": Picture(table, NARROW),
    "demo-390-dark": Picture(table, NARROW, dark=True),
    "review-1280": Picture(decision, WIDE),
    "review-1280-dark": Picture(decision, WIDE, dark=True),
    "review-1280-search": Picture(search, WIDE),
    "review-390": Picture(decision, NARROW),
    "review-390-dark": Picture(decision, NARROW, dark=True),
}


def main(
    folder: Annotated[Path, typer.Argument(help="Folder of the PNG files to write.")] = Path("docs/screens"),
    only: Annotated[str, typer.Option(help="Take only the pictures with names that start like this.")] = "",
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with opened_pages() as pages, open_browser(*WIDE) as browser:
        for name, picture in PICTURES.items():
            if name.startswith(only):
                set_screen(browser, *picture.screen, dark=picture.dark)
                picture.prepare(browser, pages)
                write_small(browser.get_screenshot_as_png(), folder / f"{name}.png")


def write_small(png: bytes, path: Path) -> None:
    """Write a picture with 256 colors, a third of the size."""
    from PIL import Image

    Image.open(io.BytesIO(png)).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    typer.run(main)
