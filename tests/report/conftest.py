"""Pages of the report in a real browser: Debian's Chromium, driven by Playwright.

The pages are what `cargo run -p forebay-report --example sample` writes, or, with
FOREBAY_PAGES, what lies in that folder already.
"""

import os
import pathlib
import subprocess
import time

import pytest
from playwright.sync_api import expect, sync_playwright

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
#: Longest wait for a condition. Redraws take milliseconds; a busy machine may delay them by seconds.
PATIENCE_MS = 120_000
expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """Folder with the sample pages."""
    if "FOREBAY_PAGES" in os.environ:
        return pathlib.Path(os.environ["FOREBAY_PAGES"])
    folder = tmp_path_factory.mktemp("pages")
    command = ["cargo", "run", "--quiet", "--locked", "--package", "forebay-report", "--example", "sample", "--", str(folder)]
    subprocess.run(command, cwd=REPOSITORY, check=True)
    return folder


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as p:
        chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = p.chromium.launch(executable_path=chromium, args=ARGS, timeout=PATIENCE_MS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, pages):
    """Opens a page and waits until its charts are drawn. Whatever goes wrong meanwhile, or leaves the file, fails the test."""
    opened = []

    def open_page(name, **context):
        ctx = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce", **context})
        page = ctx.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.troubles = []
        url = (pages / f"{name}.html").as_uri()

        def request(route):
            if route.request.url == url:
                return route.continue_()
            page.troubles.append(f"request for {route.request.url}")
            return route.abort()

        ctx.route("**/*", request)
        page.on("console", lambda m: page.troubles.append(f"console: {m.text}"))
        page.on("pageerror", lambda e: page.troubles.append(f"error: {e}"))
        page.on("dialog", lambda d: (page.troubles.append(f"dialog: {d.message}"), d.dismiss()))
        page.on("popup", lambda p: page.troubles.append(f"window: {p.url}"))
        page.goto(url)
        if context.get("java_script_enabled", True):
            page.wait_for_selector("html[data-drawn]", state="attached")
        opened.append((ctx, page))
        return page

    yield open_page
    for ctx, page in opened:
        troubles = page.troubles
        ctx.close()
        assert not troubles, troubles


@pytest.fixture(scope="session")
def until():
    """Waits until a condition holds. The page draws after resizes, media changes and scrolling in its own time."""

    def wait(page, condition):
        end = time.monotonic() + PATIENCE_MS / 1000
        while not condition():
            assert time.monotonic() < end, f"not within {PATIENCE_MS / 1000:.0f} s"
            page.evaluate("() => new Promise(done => setTimeout(done, 20))")

    return wait


@pytest.fixture(scope="session")
def ink():
    """Number of pixels of a canvas that are not blank."""
    script = """c => { const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
                       let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; }"""
    return lambda canvas: canvas.evaluate(script)


@pytest.fixture(scope="session")
def image():
    """A canvas as text, which differs when the picture does."""
    return lambda canvas: canvas.evaluate("c => c.toDataURL()")
