"""Everything is drawn, in every view, at every width, on paper and without a script; and nothing leaves the file."""

import pytest
from playwright.sync_api import expect


@pytest.mark.parametrize("name", ["one", "small", "three", "twelve", "hostile"])
def test_every_figure_is_drawn(visit, ink, name):
    page = visit(name)
    figures = page.locator("figure[data-figure]")
    assert figures.count() == 8
    assert int(page.locator("html").get_attribute("data-drawn")) == 8
    for figure in figures.all():
        check_drawn(figure, ink)


def check_drawn(figure, ink):
    kind = figure.get_attribute("class").split()[0]
    if kind in ("time", "lines"):
        canvases = figure.locator("canvas").all()
        assert canvases
        for canvas in canvases:
            # More than axes and their labels, which are some 3000 pixels.
            assert ink(canvas) > 8000, figure.get_attribute("id")
    elif kind == "bars":
        assert figure.locator("svg.draw rect.col").count() > 2
    elif kind == "lanes":
        assert figure.locator("svg.lanes rect.timer").count() == 3
        assert figure.locator("svg.lanes path.cap").count() == 1, "an arrow where the run ended"
    else:
        assert figure.locator("svg.net line.link").count() == 32
        assert figure.locator("svg.net .node").count() > 10


def test_every_view_is_drawn(visit, ink):
    page = visit("small")
    for figure in page.locator("figure[data-figure]").all():
        for radio in figure.locator("input[type=radio]").all():
            radio.check(force=True)
            check_drawn(figure, ink)


def test_many_subjects_use_view_list(visit):
    page = visit("twelve")
    figure = page.locator("#fig-topology")
    first = figure.locator("line.link").first.evaluate("e => e.outerHTML")
    figure.locator("select").select_option(index=11)
    assert figure.locator("line.link").first.evaluate("e => e.outerHTML") != first


@pytest.mark.parametrize("name", ["small", "hostile"])
def test_page_fits_window(visit, name):
    page = visit(name, viewport={"width": 360, "height": 800})
    assert page.evaluate("() => document.documentElement.scrollWidth") == 360
    for width in [390, 768, 1100, 1600, 360]:
        page.set_viewport_size({"width": width, "height": 800})
        # A ResizeObserver redraws the chart: its canvas fills the figure again, and the page fits the window.
        fits = """width => {
            const canvas = document.querySelector("#fig-queue-cdf canvas"),
                gap = canvas.closest("figure").clientWidth - canvas.clientWidth;
            return document.documentElement.scrollWidth === width && innerWidth === width && 0 <= gap && gap < 8; }"""
        page.wait_for_function(fits, arg=width)


@pytest.mark.parametrize("width", [1400, 390])
def test_no_chart_is_cut(visit, width):
    page = visit("twelve", viewport={"width": width, "height": 900})
    page.evaluate("() => document.querySelectorAll('details').forEach(d => (d.open = true))")
    page.wait_for_function("() => document.querySelectorAll('figure.bars svg.draw').length > 0")
    for figure in page.locator("figure.bars").all():
        for choice in range(figure.locator(".tools select").first.locator("option").count()):
            figure.locator(".tools select").first.select_option(index=choice)
            room, drawn = figure.locator(".over").evaluate("e => [e.clientWidth, e.scrollWidth]")
            # Twelve bars in each of six groups are wider than a phone.
            assert drawn <= room + 1 or width == 390, (figure.get_attribute("id"), choice, room, drawn)
        assert figure.evaluate("e => e.scrollWidth <= document.documentElement.clientWidth")


@pytest.mark.parametrize("width", [1400, 390])
def test_differences_share_an_axis(visit, width):
    page = visit("twelve", viewport={"width": width, "height": 900})
    points = page.locator("#differences .point")
    # Of eleven changes of two quantities, two are without a ratio.
    assert points.count() == 2 * 9
    inside = "e => { const p = e.getBoundingClientRect(), r = e.closest('svg').getBoundingClientRect(); return p.left >= r.left - 1 && p.right <= r.right + 1; }"
    assert all(point.evaluate(inside) for point in points.all())
    starts = page.locator("#differences svg:has(.base)").evaluate_all("all => all.map(e => e.getBoundingClientRect().left)")
    assert len({round(x) for x in starts}) == 1, "all rows begin at the same place"
    assert page.locator("#differences .scroll").evaluate("e => e.scrollWidth <= e.clientWidth + 1")


@pytest.mark.parametrize("width", [1400, 390])
def test_legends_are_lower_than_charts(visit, width):
    page = visit("twelve", viewport={"width": width, "height": 844})
    page.evaluate("() => document.querySelectorAll('details').forEach(d => (d.open = true))")
    heights = """e => [".legend", "canvas, svg.draw"].map(s =>
        Math.max(0, ...[...e.querySelectorAll(s)].map(x => x.getBoundingClientRect().height)))"""
    figures = page.locator("figure[data-figure]").all()
    assert figures
    for figure in figures:
        legend, chart = figure.evaluate(heights)
        assert legend <= chart, (figure.get_attribute("id"), legend, chart)


def test_labels_of_links_do_not_overlap(visit):
    page = visit("small")
    figure = page.locator("#fig-topology")
    labels = figure.locator("svg.net .utilization, svg.net .drops")
    assert figure.locator("svg.net .drops").count() > 0, "links that drop are marked"
    boxes = labels.evaluate_all(
        "all => all.map(e => e.getBoundingClientRect()).map(r => [r.left, r.right, r.top + 3, r.bottom - 3])"
    )
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            assert a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2], (a, b)


def test_paper(visit, ink, tmp_path):
    page = visit("small", color_scheme="dark")
    dark = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    page.evaluate(
        """() => { window.seen = {}; addEventListener("beforeprint", () => {
            const canvas = document.querySelector("#fig-queue-time canvas");
            seen.width = canvas.clientWidth; seen.background = getComputedStyle(document.body).backgroundColor;
            seen.open = document.querySelectorAll("details.paper:not([open])").length; }); }"""
    )
    page.pdf(path=tmp_path / "page.pdf", prefer_css_page_size=True)
    seen = page.evaluate("() => seen")
    assert seen["background"] == "rgb(255, 255, 255)"
    assert seen["open"] == 0
    assert 500 < seen["width"] <= 700
    assert (tmp_path / "page.pdf").stat().st_size > 50_000
    # And back.
    expect(page.locator("body")).to_have_css("background-color", dark)
    expect(page.locator("#scenario details.paper").first).not_to_have_attribute("open", "")

    page.emulate_media(media="print")
    for gone in ["nav", "#fig-queue-time .tools", ".hint"]:
        expect(page.locator(gone).first).to_be_hidden()
    for canvas in page.locator("canvas").all():
        assert ink(canvas) > 8000
    for box in page.locator(".scroll").all():
        assert box.evaluate("e => e.scrollWidth <= e.clientWidth + 1"), box.get_attribute("aria-label")


def test_page_readable_without_script(visit):
    page = visit("small", java_script_enabled=False)
    assert page.locator("#headline .first").inner_text().startswith("dctcp finishes queries")
    assert page.locator("#headline rect.fill").count() == 8
    assert page.locator("#headline rect.fill").first.bounding_box()["width"] > 50
    assert page.locator("table.all tbody tr").count() == 9
    assert page.locator("noscript p").first.is_visible()


def test_hostile_names_are_text(visit):
    page = visit("hostile")
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2 + page.locator("figure").count()
    assert "<img src=x" in page.locator("h1").inner_text()
    assert page.locator("#fig-queue-time .legend .name").first.inner_text() == "</script><img src=x onerror=alert(1)>"
    # Not even a script that got into the page would run.
    inject = "() => { const s = document.createElement('script'); s.textContent = 'window.bad = 1'; document.body.append(s); }"
    page.evaluate(inject)
    assert page.evaluate("() => window.bad") is None
    refused = [t for t in page.troubles if "Content Security Policy" in t]
    assert len(refused) == len(page.troubles) == 1
    page.troubles.clear()


def test_empty_cells_vanish_on_phones(visit):
    page = visit("one", viewport={"width": 390, "height": 800})
    # As the tables of the advice have them, where a step has no command.
    row = '<table class="grid sorted"><tbody><tr><td data-head="step">run</td><td data-head="command"></td></tr></tbody></table>'
    page.evaluate("row => document.querySelector('main').insertAdjacentHTML('beforeend', row)", row)
    shown = page.locator("main > .sorted td").evaluate_all("all => all.map(td => getComputedStyle(td).display)")
    assert shown == ["flex", "none"]
