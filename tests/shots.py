"""Screenshots for the docs, of a running kmapp with the data of the demo: `make shots`."""

import json
import os
import sys
from pathlib import Path
from shutil import which

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("KMAPP_DATA_DIR", ROOT / ".kmapp"))
BASE = f"http://127.0.0.1:{os.environ.get('PORT', '8000')}"
FOLDER = ROOT / "docs" / "images"
CHROMIUM = os.environ.get("CHROMIUM") or which("chromium") or which("google-chrome")
MAX_BYTES = 150_000  # bytes of one picture
QUESTION = "?query=which+evening+suits+the+pottery+club&user_id=mira-tallow&limit=3"
# By name: the address, the theme, the language, the size.
PICTURES = {
    "home": ("/", "light", "en", (1280, 640)),
    "review": ("/review/", "light", "en", (1280, 680)),
    "lab": (f"/lab/{QUESTION}", "dark", "en", (1280, 720)),
    "phone": ("/", "dark", "zh-hans", (320, 640)),
}


def sign_in(page: Page) -> None:
    credentials = json.loads((DATA / "credentials.json").read_text())
    page.goto(f"{BASE}/sign-in/")
    page.fill("input[name=username]", credentials["email"])
    page.fill("input[name=password]", credentials["password"])
    page.click("button.btn-primary")


def main() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        sign_in(page)
        for name, (path, theme, language, (width, height)) in PICTURES.items():
            cookies = {"kmapp_theme": theme, "django_language": language}
            page.context.add_cookies(
                [{"name": key, "value": value, "url": BASE} for key, value in cookies.items()]
            )
            page.set_viewport_size({"width": width, "height": height})
            page.goto(BASE + path, wait_until="networkidle")
            picture = page.screenshot(path=FOLDER / f"{name}.png")
            if len(picture) > MAX_BYTES:
                sys.exit(f"{name}.png holds {len(picture)} bytes, more than {MAX_BYTES}.")
        browser.close()


if __name__ == "__main__":
    main()
