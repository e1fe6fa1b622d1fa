"""The page in a browser, used as a person uses it: keyboard, phone, dark; and nothing leaves it."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from lassi.report.write import write_report
from lassi.run.run import Run
from reading import look_around, opened, serious

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="There is no Chromium here: install Debian's to run this test."
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="module")
def report(tiny_run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(tiny_run.folder, tmp_path_factory.mktemp("report") / "report.html")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_read_by_everybody(browser: Browser, report: Path, scheme: str) -> None:
    page, wrong = opened(browser, report, color_scheme=scheme)
    look_around(page)
    for summary in page.locator("summary").all():
        summary.click()
    assert serious(page) == []
    assert wrong == []
    page.close()


def test_it_fits_a_phone(browser: Browser, report: Path) -> None:
    page, wrong = opened(browser, report, viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    look_around(page)
    assert wrong == []
    page.close()


def test_a_slider_shows_the_class_that_each_model_gives(browser: Browser, report: Path) -> None:
    page, _ = opened(browser, report)
    data = page.evaluate("JSON.parse(document.getElementById('gallery-data').textContent)")
    people = page.locator(".person")
    changes = 0
    for number in range(people.count()):
        person = people.nth(number)
        part, place = (int(person.get_attribute(f"data-{name}")) for name in ("part", "person"))
        models = data[part][place]["models"]
        for key, point in (("Home", 0), ("End", -1)):
            for slider in person.locator("input").all():
                slider.press(key)
            for row, model in zip(person.locator("[data-model]").all(), models, strict=True):
                assert row.locator(".says").inner_text() == model["predicted"][point]
                is_other = "other" in (row.locator(".says").get_attribute("class") or "").split()
                assert is_other == (model["predicted"][point] != model["own"])
                changes += is_other
    assert changes, "somebody gets another class at the end"
    page.close()


def test_the_security_policy_stops_a_request(browser: Browser, report: Path) -> None:
    page, wrong = opened(browser, report)
    stopped = page.evaluate("fetch('data:text/plain,x').then(() => false, () => true)")
    assert stopped
    assert any("Content Security Policy" in text for text in wrong)
    page.close()


def test_what_is_folded_away_is_printed(browser: Browser, report: Path, tmp_path: Path) -> None:
    page, wrong = opened(browser, report)
    assert page.locator("details:not([open])").count() > 2
    page.pdf(path=tmp_path / "page.pdf")
    assert page.locator("details:not([open])").count() == 0
    page.set_viewport_size({"width": 700, "height": 1000})  # a sheet of A4 between its margins
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 700, "nothing is cut off"
    assert wrong == []
    page.close()
