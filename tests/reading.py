"""Reading a page in a browser, as a person does."""

from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page


def opened(browser: Browser, report: Path, **options) -> tuple[Page, list[str]]:
    """The page, and everything that is wrong about it as it goes: errors, and requests that leave it."""
    page = browser.new_page(**options)
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: wrong.append(request.url) if request.url.startswith(("http", "ws")) else None)
    page.goto(report.as_uri())
    return page, wrong


def look_around(page: Page) -> None:
    """Move every slider to both ends by the keyboard; pictures and words must follow."""
    people = page.locator(".person")
    assert people.count()
    for number in range(people.count()):
        person = people.nth(number)
        picture, slider = person.locator(".picture"), person.locator("input").first
        seen = set()
        for key in ("Home", "End"):
            slider.press(key)
            place = picture.evaluate("element => getComputedStyle(element).backgroundPosition")
            seen.add((place, picture.get_attribute("aria-label"), slider.get_attribute("aria-valuetext")))
        assert len(seen) == 2, "both ends look different"


def serious(page: Page) -> list[str]:
    found = Axe().run(page).response["violations"]
    return [f"{v['id']}: {v['nodes'][0]['html'][:200]}" for v in found if v["impact"] in ("serious", "critical")]
