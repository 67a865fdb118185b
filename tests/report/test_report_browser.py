"""Reports in a real browser: opened from a file, without a network, by keyboard, in light and in dark."""

from __future__ import annotations

import shutil

import pytest

from shown_models import fitted, numbers, target

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = pytest.mark.skipif(
    BROWSER is None, reason="no chromium, chromium-browser or google-chrome on this machine"
)

# For every piece of text that is shown: its contrast with what is behind it.
CONTRASTS = """() => {
  const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const linear = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = (c) => 0.2126 * linear(c[0] / 255) + 0.7152 * linear(c[1] / 255) + 0.0722 * linear(c[2] / 255);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = numbers(getComputedStyle(e).backgroundColor);
      if (colour.length < 4 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), element = walker.currentNode.parentElement;
    if (!text || element.closest("title, desc, style") || !element.getClientRects().length) continue;
    const style = getComputedStyle(element), own = element.closest("svg") ? style.fill : style.color;
    const [a, b] = [light(numbers(own)), light(behind(element))].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), text.slice(0, 40)]);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")
    fitted("mixture").report(folder / "mixture.html")
    fitted("classifier").report(folder / "classifier.html", private_rows=(numbers(), target("classifier")))
    return folder


@pytest.fixture
def opened(browser, place):
    """Return a way to open a report, which notes what the page asks for and complains of."""
    pages = []

    def open_one(name, **how):
        page = browser.new_page(**how)
        pages.append(page)
        page.asked, page.complaints = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.goto((place / name).as_uri())
        return page

    yield open_one
    for page in pages:
        page.close()


@pytest.mark.parametrize("name", ["mixture.html", "classifier.html"])
def test_it_opens_without_a_network_or_a_complaint_and_every_chart_is_seen(opened, place, name):
    page = opened(name, viewport={"width": 1100, "height": 900})
    assert page.asked == [(place / name).as_uri()]
    assert page.complaints == []
    sizes = page.eval_on_selector_all("svg", "all => all.map(e => [e.clientWidth, e.clientHeight])")
    assert len(sizes) >= 5
    assert all(width > 200 and height > 60 for width, height in sizes)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_in_light_and_in_dark(opened, scheme):
    page = opened("classifier.html", color_scheme=scheme)
    page.eval_on_selector_all("details", "all => all.forEach(e => e.open = true)")
    measured = page.evaluate(CONTRASTS)
    assert len(measured) > 150
    assert [text for contrast, text in measured if contrast < 4.5] == []
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")


def test_a_narrow_screen_scrolls_charts_and_not_the_page(opened):
    page = opened("mixture.html", viewport={"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    charts = page.locator("figure:has(.hint)")
    assert charts.count() >= 4
    for k in range(charts.count()):  # what is wider than its box says so, and its numbers can be read
        chart = charts.nth(k)
        assert chart.locator(".hint").is_visible()
        assert chart.locator(".chart").evaluate("e => e.scrollWidth > e.clientWidth")
        heights = chart.locator("svg text").evaluate_all("all => all.map(e => e.getBoundingClientRect().height)")
        assert min(heights) > 9.0


def test_a_wide_screen_shows_no_hint_to_scroll(opened):
    page = opened("mixture.html", viewport={"width": 1100, "height": 900})
    assert not any(page.locator(".hint").evaluate_all("all => all.map(e => e.getClientRects().length)"))


def test_the_keyboard_reaches_the_skip_link_and_the_numbers_of_every_chart(opened):
    page = opened("mixture.html", viewport={"width": 1100, "height": 900})
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    reached = 0
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "SUMMARY":
            reached += 1
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
            page.keyboard.press("Enter")
        if page.evaluate("document.activeElement === document.body"):
            break
    assert reached == page.locator("details").count()
    assert page.locator("details[open] table").count() == reached
