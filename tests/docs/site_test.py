"""The built site in a browser: pictures are there, pages fit screens, links lead to files. SITE is its folder of pages,
CHROMIUM the browser."""
import html
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest
import urllib.parse

SITE = pathlib.Path(os.environ["SITE"])
WIDTHS = (1280, 400)
# Asks the page of a frame and tells the page around it; pages of files may not look into each other.
PROBE = """<script>addEventListener("load", () => setTimeout(() => parent.postMessage({
  screen: innerWidth,
  page: document.documentElement.scrollWidth,
  images: [...document.images].map((image) => [image.getAttribute("src"), image.complete ? image.naturalWidth : -1]),
  drawings: [...document.querySelectorAll("object")].map((one) => [one.data, one.getBoundingClientRect().width]),
  links: [...document.querySelectorAll("a[href]")].map((link) => link.getAttribute("href")),
}, "*"), 500));</script></body>"""
# A window has a least width, a frame in it has none.
AROUND = """<!DOCTYPE html><body><script>
const seen = [];
addEventListener("message", (event) => {
  seen.push(event.data);
  if (seen.length < document.querySelectorAll("iframe").length) return;
  const text = document.createElement("pre");
  text.id = "seen";
  text.textContent = JSON.stringify(seen);
  document.body.replaceChildren(text);
});
</script>"""


def pages():
    """The main page, those of patterns, the longest of all and that of a class."""
    return ["index.html", "patterns.html", "pattern_bpt.html", "experiments.html", "classbough_1_1Graph.html"]


def seen_in_browser(name):
    """What a script at the end of the page finds on it, for each width of the screen."""
    text = (SITE / name).read_text()
    end = text.rindex("</body>")
    probe, around = SITE / f"probe_{os.getpid()}.html", SITE / f"around_{os.getpid()}.html"
    frames = "".join(f'<iframe src="{probe.name}" width="{width}" height="800" style="border: 0"></iframe>' for width in WIDTHS)
    with tempfile.TemporaryDirectory() as folder:
        try:
            probe.write_text(text[:end] + PROBE + text[end + len("</body>"):])
            around.write_text(AROUND + frames)
            dom = subprocess.run(
                [os.environ["CHROMIUM"], "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=10000",
                 "--window-size=1400,1800", f"--user-data-dir={folder}", "--dump-dom", f"file://{around}"],
                capture_output=True, text=True, timeout=120, check=False).stdout
        finally:
            probe.unlink(missing_ok=True)
            around.unlink(missing_ok=True)
    found = re.search(r'<pre id="seen">(.*?)</pre>', dom, re.DOTALL)
    assert found, f"the browser showed: {dom[:2000]}"
    return {seen["screen"]: seen for seen in json.loads(html.unescape(found.group(1)))}


def local_file(link):
    """The file that a link of a page leads to; None if it leads elsewhere or only within the page."""
    parts = urllib.parse.urlsplit(link)
    if parts.scheme or parts.netloc or not parts.path:
        return None
    return SITE / urllib.parse.unquote(parts.path)


class Site(unittest.TestCase):
    def test_pages_have_their_pictures_fit_screens_and_lead_somewhere(self):
        for name in pages():
            found = seen_in_browser(name)
            self.assertEqual(set(found), set(WIDTHS))
            for width, seen in found.items():
                with self.subTest(page=name, width=width):
                    self.assertLessEqual(seen["page"], width)
                    self.assertEqual([image for image, natural in seen["images"] if natural <= 0], [])
                    for drawing, shown in seen["drawings"]:
                        self.assertTrue(0 < shown <= width, (drawing, shown))
                        self.assertTrue(local_file(drawing.removeprefix("file://")).is_file(), drawing)
                    self.assertGreater(len(seen["links"]), 0)
                    files = {link: local_file(link) for link in seen["links"]}
                    self.assertEqual([link for link, file in files.items() if file and not file.exists()], [])

    def test_the_page_of_a_pattern_shows_its_picture_and_its_matrix(self):
        page = (SITE / "pattern_bpt.html").read_text()
        for drawing in ("pattern_bpt.svg", "matrix_bpt.svg"):
            self.assertRegex(page, f'<object [^>]*data="{drawing}"')


if __name__ == "__main__":
    unittest.main()
