"""The page in headless Chromium: light and dark, on a phone and on a wide screen."""

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
DRAWN = "document.querySelectorAll('.chart').length === document.querySelectorAll('.chart svg').length"


@pytest.mark.parametrize("width", [360, 1400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_drawn_without_an_error_or_a_request(browser, tmp_path, name, scheme, width):
    path = tmp_path / "report.html"
    path.write_text(PAGES[name](), encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    opened = context.new_page()
    said, asked = [], []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("dialog", lambda dialog: said.append(dialog.message))
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(path.as_uri(), wait_until="networkidle")
    opened.wait_for_function(DRAWN)
    wide = opened.evaluate("document.documentElement.scrollWidth")
    paper = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    text = opened.inner_text("body")
    tall = opened.locator("td.word").evaluate_all(TALL)
    context.close()
    assert tall == []
    assert said == []
    assert asked == [path.as_uri()]
    assert wide <= width
    assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 28)"}[scheme]
    assert EVIL in text
