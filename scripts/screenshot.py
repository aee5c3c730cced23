"""Take the picture of the page of `spacy-sapbert serve` that docs/linking.md shows.

    python scripts/screenshot.py docs/serve.png

It needs Chromium with its driver (Debian: apt-get install chromium chromium-driver) and selenium.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer


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
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        yield browser
    finally:
        browser.quit()


@contextmanager
def serving() -> Iterator[str]:
    """Yield the address of `spacy-sapbert serve` with the pipeline of `demo`."""
    command = [sys.executable, "-m", "spacy_sapbert", "serve", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            yield next(line.split()[0] for line in server.stderr if line.startswith("http://"))
        finally:
            server.terminate()


def main(
    output: Annotated[Path, typer.Argument(help="PNG file to write.")],
    mention: Annotated[str, typer.Option(help="Mention with its card open.")] = "breast and ovarian cancer",
) -> None:
    with serving() as address, open_browser(1160, 840) as browser:
        browser.get(address)
        browser.find_element("link text", mention).click()
        browser.save_screenshot(str(output))


if __name__ == "__main__":
    typer.run(main)
