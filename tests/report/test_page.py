"""The page: nothing is left out, nothing comes from outside, and a broken one is never written."""

import re
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gnomon.report.captions import Caption
from gnomon.report.page import LARGEST_DRAWING, Figure, Image, Page, Section, Table, render, tables, write_page

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><rect width="3" height="2"/></svg>'


class Elements(HTMLParser):
    """Every start tag with its attributes; complains about tags that do not match."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in ("meta", "link", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def of(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.found if name == tag]


def image(folder: Path, name: str = "panel", svg: bytes = SVG) -> Image:
    (folder / f"{name}.svg").write_bytes(svg)
    (folder / f"{name}.png").write_bytes(b"\x89PNG " + name.encode())
    return Image(folder / name, f"what {name} shows", "LSTM")


def page_of(*sections: Section) -> Page:
    return Page("Title", "Subtitle", ("First.", "Second."), sections)


@pytest.fixture
def whole(tmp_path: Path) -> Page:
    figure = Figure(
        (image(tmp_path, "one"), image(tmp_path, "two")), "Two panels", Caption("Read it so", "found it too.")
    )
    table = Table("Numbers", ("agent", "slope", "verdict"), (("lstm-0", "0.93", "not decided"),), "A note.")
    first = Section("Learning curves", ("Words.",), (figure,), (table,))
    return page_of(first, Section("How to", commands=("gnomon report a --out b",)))


def test_everything_is_on_the_page(whole: Page) -> None:
    html = render(whole)
    for piece in (
        "<h1>Title</h1>", "Subtitle", "<p>First.</p>", "<p>Second.</p>", "<h2>1. Learning curves</h2>", "<p>Words.</p>",
        "Two panels", "Read it so", "found it too.", "A note.", '<th scope="row">lstm-0</th><td>0.93</td>',
        "gnomon report a --out b\n",
    ):  # fmt: skip
        assert piece in html
    elements = Elements(html)
    assert [img["alt"] for img in elements.of("img")] == ["what one shows", "what two shows"]
    assert [td.get("class", "") for td in elements.of("td")] == ["", "verdict not-decided"]


def test_it_reads_well_on_a_phone(whole: Page) -> None:
    views = [meta["content"] for meta in Elements(render(whole)).of("meta") if meta.get("name") == "viewport"]
    assert views == ["width=device-width, initial-scale=1"]


def test_nothing_comes_from_outside(whole: Page) -> None:
    html = render(whole)
    elements = Elements(html)
    assert not elements.of("script")
    sources = [
        value for _, attributes in elements.found for name, value in attributes.items() if name in ("src", "href")
    ]
    assert len(sources) == 5  # two pictures, two links within the page, the empty icon
    assert all(source.startswith(("data:", "#")) for source in sources)
    assert "@import" not in html
    assert "url(" not in html


def test_links_lead_to_sections(whole: Page) -> None:
    elements = Elements(render(whole))
    assert [a["href"] for a in elements.of("a")] == ["#learning-curves", "#how-to"]
    assert [section["id"] for section in elements.of("section")] == ["learning-curves", "how-to"]


def test_words_are_never_taken_for_markup() -> None:
    section = Section("<b>", ("a < b & c",), (), (Table("T", ("x",), (("<script>",),)),), ('echo "<i>"',))
    html = render(page_of(section))
    for raw in ("<b>", "a < b", "<script>", "<i>"):
        assert raw not in html
    assert "a &lt; b &amp; c" in html


def test_small_drawings_stay_sharp_and_large_ones_become_pixels(tmp_path: Path) -> None:
    kind, _, inside = image(tmp_path, "small").source().partition(";base64,")
    assert (kind, b64decode(inside)) == ("data:image/svg+xml", SVG)
    just = image(tmp_path, "just", SVG + b" " * (LARGEST_DRAWING - len(SVG)))
    assert just.source().startswith("data:image/svg+xml;")
    kind, _, inside = image(tmp_path, "large", b" " * (LARGEST_DRAWING + 1)).source().partition(";base64,")
    assert (kind, b64decode(inside)) == ("data:image/png", b"\x89PNG large")


def test_a_dot_in_a_name_is_no_suffix(tmp_path: Path) -> None:
    assert image(tmp_path, "lstm.v2-0").source().startswith("data:image/svg+xml;")


def test_a_row_must_fit_its_table() -> None:
    with pytest.raises(ValueError, match=re.escape("table 'T' has 2 columns, but a row of 1: ('a',)")):
        Table("T", ("x", "y"), (("a",),))


def test_tables_are_written_as_markdown_too(whole: Page) -> None:
    lines = tables(whole).splitlines()
    assert lines[:2] == ["## Learning curves", ""]
    assert lines[2:] == [
        "### Numbers", "", "| agent | slope | verdict |", "|---|---|---|", "| lstm-0 | 0.93 | not decided |", "",
        "A note.",
    ]  # fmt: skip


def test_a_page_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, whole: Page) -> None:
    path = tmp_path / "out" / "index.html"
    write_page(whole, path)
    before = path.read_text()
    assert before == render(whole)
    (tmp_path / "two.svg").unlink()
    with pytest.raises(FileNotFoundError):
        write_page(whole, path)
    assert path.read_text() == before
    assert sorted(each.name for each in path.parent.iterdir()) == ["index.html", "tables.md"]
