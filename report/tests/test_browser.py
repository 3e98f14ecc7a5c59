"""The page in headless Chromium: light and dark, on a phone, on a wide screen, and on paper."""

import pytest
from artificial import EVIL, fact, made, report, unknown_report

from pgbufprobe_report import compare, page

PAGES = {
    "page": lambda: page.render(made()),
    "unknown": lambda: page.render(made(unknown_report())),
    "comparison": lambda: compare.render(made(), made(report(caches=fact([])))),
    "half": lambda: compare.render(made(unknown_report()), made()),
}
# The cells of one word whose text has several lines.
TALL = """cells => cells.filter(cell => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return new Set([...range.getClientRects()].map(line => Math.round(line.top))).size > 1;
}).map(cell => cell.textContent)"""
# The labels of pictures that are not within them.
CLIPPED = """texts => texts.filter(text => {
  const [inner, outer] = [text, text.ownerSVGElement].map(each => each.getBoundingClientRect());
  return inner.left < outer.left - 1 || inner.right > outer.right + 1 || inner.bottom > outer.bottom + 1;
}).map(text => text.textContent)"""
OPEN = "() => document.querySelectorAll('details').forEach(each => { each.open = true; })"
WIDTH = "document.documentElement.scrollWidth"


@pytest.fixture
def show(browser, tmp_path):
    """Opens a page. What it says and asks for is in lists."""
    contexts = []

    def opened(name, width, **options):
        path = tmp_path / f"{name}.html"
        path.write_text(PAGES[name](), encoding="utf-8")
        contexts.append(browser.new_context(viewport={"width": width, "height": 800}, **options))
        made = contexts[-1].new_page()
        said, asked = [], []
        made.on("console", lambda message: said.append(message.text))
        made.on("pageerror", lambda error: said.append(str(error)))
        made.on("dialog", lambda dialog: said.append(dialog.message))
        made.on("request", lambda request: asked.append(request.url))
        made.goto(path.as_uri(), wait_until="networkidle")
        assert asked == [path.as_uri()]
        return made, said

    yield opened
    for context in contexts:
        context.close()


@pytest.mark.parametrize("width", [360, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_drawn_without_an_error_or_a_request(show, name, scheme, width):
    opened, said = show(name, width, color_scheme=scheme)
    opened.evaluate(OPEN)
    assert opened.evaluate(WIDTH) <= width
    paper = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 28)"}[scheme]
    assert opened.locator("td.word").evaluate_all(TALL) == []
    assert opened.locator("svg text").evaluate_all(CLIPPED) == []
    assert EVIL in opened.inner_text("body")
    assert said == []


def test_a_page_is_at_most_five_screens(show):
    opened, _ = show("page", 1280)
    assert opened.evaluate("document.documentElement.scrollHeight") <= 5 * 800


def test_on_a_phone_the_column_that_decides_is_seen(show):
    opened, _ = show("page", 390)
    opened.evaluate(OPEN)
    box = opened.locator("#sizes th:text-is('Waiting per second')").bounding_box()
    assert box["x"] + box["width"] <= 390


def test_a_link_of_the_contents_opens_what_it_leads_to(show):
    opened, _ = show("page", 1280)
    assert not opened.locator("#caches").is_visible()
    opened.click("nav >> text=Both caches")
    assert opened.locator("#caches").is_visible()


@pytest.mark.parametrize("name", PAGES)
def test_on_paper_nothing_is_cut(show, name):
    opened, _ = show(name, 700)
    opened.evaluate(OPEN)
    opened.emulate_media(media="print")
    assert opened.evaluate(WIDTH) <= 700
    boxes = "boxes => boxes.filter(box => box.scrollWidth > box.clientWidth).map(box => box.textContent)"
    assert opened.locator(".scroll").evaluate_all(boxes) == []
