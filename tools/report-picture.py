"""Takes the picture of a report that README.md shows.

tools/report-picture.py REPORT.html PICTURE.png
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

# Chromium without what looks for a network; as root it needs the second.
FLAGS = ["--disable-gpu", "--no-sandbox", "--no-first-run", "--disable-background-networking", "--disable-sync"]


def main(report: str, picture: str) -> None:
    """Opens the page at the width of a desk and keeps what is seen first."""
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 1120}, color_scheme="light")
        page.goto(Path(report).resolve().as_uri())
        page.wait_for_selector("html[data-drawn]", state="attached")
        page.wait_for_function("() => document.fonts.status === 'loaded'")
        page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:3])
