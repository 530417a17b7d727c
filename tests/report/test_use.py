"""Reading a page with keys, mouse and fingers."""

import csv
import io
import itertools
import math

import pytest
from playwright.sync_api import expect


def chart(page, figure="queue-time"):
    return page.locator(f"#fig-{figure}")


def labels(page, figure="queue-time"):
    """Text of the cursor: the line below the chart."""
    return chart(page, figure).locator(".xlab").inner_text()


def tab_to(page, selector, limit=60):
    for _ in range(limit):
        page.keyboard.press("Tab")
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
    raise AssertionError(f"no way to {selector} with the Tab key")


def test_a_chart_by_keys_alone(visit, image, until):
    page = visit("small")
    canvas, reset = chart(page).locator("canvas"), chart(page).get_by_role("button", name="Show everything")
    tab_to(page, "#fig-queue-time .keys")
    assert page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle") == "solid"
    whole = image(canvas)
    expect(reset).to_be_disabled()

    page.keyboard.press("+")
    page.keyboard.press("+")
    expect(reset).to_be_enabled()
    until(page, lambda: image(canvas) != whole)
    zoomed = image(canvas)
    page.keyboard.press("ArrowRight")
    until(page, lambda: image(canvas) != zoomed)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("-")
    page.keyboard.press("-")
    expect(reset).to_be_disabled()

    page.keyboard.press("+")
    page.keyboard.press("0")
    expect(reset).to_be_disabled()
    until(page, lambda: image(canvas) == whole)

    page.keyboard.press("Shift+ArrowRight")
    output = chart(page).locator("output")
    expect(output).not_to_be_empty()
    said = output.inner_text()
    assert said.startswith("time 10.")
    assert "newreno" in said
    assert "packets" in said
    value = chart(page).locator(".legend .val").first
    expect(value).not_to_be_empty()
    page.keyboard.press("Escape")
    expect(value).to_be_empty()


def test_legend_hides_lines_in_all_panels(visit, image, until):
    page = visit("small")
    tcp = chart(page, "tcp")
    before = [image(c) for c in tcp.locator("canvas").all()]
    button = tcp.locator(".panel").nth(0).get_by_role("button", name="newreno, connection 3")
    button.focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    buttons = tcp.get_by_role("button", name="newreno, connection 3").all()
    assert len(buttons) == 3
    for b in buttons:
        expect(b).to_have_attribute("aria-pressed", "false")
    until(page, lambda: all(image(c) != b for c, b in zip(tcp.locator("canvas").all(), before, strict=True)))
    tcp.locator(".panel").nth(1).get_by_role("button", name="newreno, connection 3").click()
    expect(button).to_have_attribute("aria-pressed", "true")


def test_bars_are_hidden_by_their_names(visit):
    page = visit("small")
    bars = chart(page, "fct").locator("rect.col")
    expect(bars).to_have_count(8)
    chart(page, "fct").get_by_role("button", name="newreno").click()
    expect(bars).to_have_count(5)


def test_drag_zooms_double_click_resets(visit, image, until):
    page = visit("small")
    figure = chart(page, "tcp")
    over = figure.locator(".u-over").nth(1)
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    before = [image(c) for c in figure.locator("canvas").all()]
    page.mouse.move(box["x"] + 200, box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 260, box["y"] + 60, steps=5)
    page.mouse.up()
    reset = figure.get_by_role("button", name="Show everything")
    expect(reset).to_be_enabled()
    # All panels share the axis.
    until(page, lambda: all(image(c) != b for c, b in zip(figure.locator("canvas").all(), before, strict=True)))
    page.mouse.move(box["x"] + 300, box["y"] + 50)
    until(page, lambda: labels(page, "tcp").startswith("time "))
    until(page, lambda: all(v.inner_text() for v in figure.locator(".legend .val").all()[:4]))
    page.mouse.dblclick(box["x"] + 300, box["y"] + 50)
    expect(reset).to_be_disabled()


def test_cursor_shows_data_values(visit, until):
    page = visit("small")
    over = chart(page, "queue-cdf").locator(".u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    # Past the middle between two samples, where the nearest is not the one that holds.
    page.mouse.move(box["x"] + box["width"] * 0.5045, box["y"] + 30)
    until(page, lambda: labels(page, "queue-cdf").startswith("queue "))
    x = float(labels(page, "queue-cdf").removeprefix("queue ").removesuffix(" packets"))
    assert 81.5 < x < 82
    # The sample's third line, at the step that holds there, in percent.
    value = float(chart(page, "queue-cdf").locator(".legend .val").nth(2).inner_text())
    assert value == pytest.approx(100 / (1 + math.exp(-(int(x) - 140 / 3) / 7)), abs=0.01)


def test_wheel_scrolls_or_zooms(visit, until):
    page = visit("small")
    over = chart(page).locator(".u-over")
    over.hover()
    reset = chart(page).get_by_role("button", name="Show everything")
    at = page.evaluate("() => scrollY")
    page.mouse.wheel(0, 100)
    until(page, lambda: page.evaluate("() => scrollY") > at)
    assert reset.is_disabled(), "the chart had the wheel before the page scrolled"
    over.hover()
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.keyboard.up("Control")
    expect(reset).to_be_enabled()


def test_pinch_zooms_touch_moves_cursor(visit, until):
    page = visit("small", has_touch=True, is_mobile=True, viewport={"width": 390, "height": 844})
    over = chart(page).locator(".u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    cdp = page.context.new_cdp_session(page)
    y = box["y"] + 40

    def touch(kind, *xs):
        points = [{"x": box["x"] + x, "y": y, "id": i} for i, x in enumerate(xs)]
        cdp.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 100)
    touch("touchMove", 130)
    touch("touchMove", 150)
    until(page, lambda: labels(page).startswith("time "))
    expect(chart(page).locator(".legend .val").first).not_to_be_empty()
    touch("touchEnd")
    touch("touchStart", 100)
    touch("touchStart", 100, 140)
    touch("touchMove", 60, 200)
    touch("touchMove", 40, 240)
    touch("touchEnd")
    expect(chart(page).get_by_role("button", name="Show everything")).to_be_enabled()


@pytest.mark.parametrize("figure", ["fct", "lanes", "topology"])
def test_shapes_have_tooltips(visit, until, figure):
    page = visit("small")
    shapes = chart(page, figure).locator("[data-hit]")
    assert shapes.evaluate_all("l => l.filter(e => e.tabIndex === 0).length") == 1
    chart(page, figure).locator("[data-hit][tabindex='0']").focus()
    tip = page.locator(".tip")
    expect(tip).to_be_visible()
    first = tip.inner_text()
    page.keyboard.press("ArrowRight")
    until(page, lambda: tip.inner_text() != first)
    second = tip.inner_text()
    assert page.evaluate("() => document.activeElement.getAttribute('aria-label')").startswith(second.split("\n")[0])
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()
    shapes.nth(3).hover(force=True)
    expect(tip).to_be_visible()


def test_link_compared_across_runs(visit):
    page = visit("small")
    rows = chart(page, "topology").locator(".about tbody tr")
    assert rows.count() == 3
    assert "99\u00a0%" in rows.first.inner_text()
    chart(page, "topology").get_by_role("radio", name="dctcp").check(force=True)
    expect(rows.nth(2)).to_have_class("now")


def test_theme(visit, image, until):
    page = visit("small", color_scheme="light")
    background = "() => getComputedStyle(document.body).backgroundColor"
    canvas = chart(page).locator("canvas")
    light, drawn = page.evaluate(background), image(canvas)
    page.get_by_role("button", name="Dark theme").click()
    until(page, lambda: page.evaluate(background) != light and image(canvas) != drawn)
    page.get_by_role("button", name="Light theme").click()
    until(page, lambda: page.evaluate(background) == light and image(canvas) == drawn)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("() => matchMedia('(prefers-color-scheme: dark)').matches")
    assert page.evaluate(background) == light, "the reader's choice stays"


def test_a_preference_for_dark_is_followed(visit):
    page = visit("small", color_scheme="dark")
    body = page.locator("body")
    expect(body).to_have_css("background-color", "rgb(21, 24, 28)")
    page.emulate_media(color_scheme="light")
    expect(body).to_have_css("background-color", "rgb(255, 255, 255)")


def test_shown_data_can_be_exported(visit):
    page = visit("small")

    def save(figure):
        with page.expect_download() as download:
            chart(page, figure).get_by_role("button", name="Download as CSV").click()
        text = download.value.path().read_text("utf-8-sig")
        return download.value.suggested_filename, list(csv.reader(io.StringIO(text)))

    name, rows = save("sweep")
    assert name == "sweep.csv"
    assert rows[0] == ["line", "senders (count)", "Goodput (bits-per-second)", "low", "high"]
    assert len(rows) == 1 + 3 * 11
    chart(page, "sweep").get_by_role("button", name="newreno").click()
    expect(chart(page, "sweep").get_by_role("button", name="newreno")).to_have_attribute("aria-pressed", "false")
    assert len(save("sweep")[1]) == 1 + 2 * 11
    for figure in ["queue-time", "fct", "topology"]:
        name, rows = save(figure)
        assert name == f"{figure}.csv"
        assert len(rows) > 8
        assert len({len(r) for r in rows}) == 1
    # Only what is in view.
    whole = len(save("tcp")[1])
    chart(page, "tcp").locator(".keys").focus()
    page.keyboard.press("+")
    expect(chart(page, "tcp").get_by_role("button", name="Show everything")).to_be_enabled()
    assert len(save("tcp")[1]) < 0.6 * whole


def test_contents_follow_the_reader(visit):
    page = visit("small")
    assert page.locator("nav [aria-current]").inner_text() == "In short"
    page.get_by_role("link", name="All numbers").click()
    page.wait_for_selector("nav [aria-current]:text('All numbers')")


@pytest.mark.parametrize("name", ["small", "twelve"])
def test_controls_have_accessible_names(visit, name):
    page = visit(name)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, select, input, a, summary, [role]:not([aria-hidden]), [tabindex='0']")]
            .filter(e => !e.getAttribute("aria-label") && !e.textContent.trim())
            .filter(e => ![...(e.labels || [])].some(l => l.textContent.trim()))
            .map(e => e.outerHTML.slice(0, 120))"""
    )
    assert nameless == []
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    levels = page.evaluate("() => [...document.querySelectorAll('h1,h2,h3')].map(e => +e.tagName[1])")
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
