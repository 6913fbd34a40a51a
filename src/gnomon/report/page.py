"""One self-contained HTML page: sections of words, figures and tables, with every picture inside the file.

The page knows nothing about timing; `gnomon.report.contents` says what is on it. Sections are numbered in their order.
It needs no script and no network.
"""

import re
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from gnomon.records.runs import write_text
from gnomon.report.captions import Caption

LARGEST_DRAWING = 150_000  # bytes of SVG above which the PNG takes less room, and less of a phone's patience
TABLES = "tables.md"  # beside the page
VERDICTS = ("reproduced", "contradicted", "not decided")  # cells with these words are coloured


@dataclass(frozen=True)
class Image:
    """A drawn panel: PATH.svg and PATH.png, and what it shows for those who cannot see it."""

    path: Path  # without suffix
    alternative: str
    title: str = ""

    def source(self) -> str:
        """The picture as a data URI: sharp at any size where that is cheap, pixels otherwise."""
        svg, png = (self.path.with_name(self.path.name + suffix) for suffix in (".svg", ".png"))
        if svg.stat().st_size <= LARGEST_DRAWING:
            return "data:image/svg+xml;base64," + b64encode(svg.read_bytes()).decode()
        return "data:image/png;base64," + b64encode(png.read_bytes()).decode()


@dataclass(frozen=True)
class Figure:
    """Panels that stand side by side where there is room, and one caption."""

    images: tuple[Image, ...]
    title: str
    caption: Caption


@dataclass(frozen=True)
class Table:
    """Rows of words and numbers; the first column names the row."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.header):
                raise ValueError(f"table {self.title!r} has {len(self.header)} columns, but a row of {len(row)}: {row}")


@dataclass(frozen=True)
class Section:
    """A heading and what is below it: words first, then figures, then tables, then commands to type."""

    title: str
    text: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()
    commands: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """What links to the section end with."""
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")


@dataclass(frozen=True)
class Page:
    title: str
    subtitle: str
    summary: tuple[str, ...]  # paragraphs
    sections: tuple[Section, ...]
    laboratory: str = ""  # the page of `gnomon play` beside this one, if it is there


def render(page: Page) -> str:
    """The page as HTML."""
    environment = Environment(
        loader=PackageLoader("gnomon.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.j2").render(page=page, verdicts=VERDICTS)


def markdown(table: Table) -> str:
    """A table as Markdown."""
    lines = [f"| {' | '.join(table.header)} |", "|" + "---|" * len(table.header)]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in table.rows]
    return "\n".join(lines) + "\n"


def tables(page: Page) -> str:
    """Every table of the page as Markdown, below the titles of its section and its own."""
    return "\n".join(
        f"## {section.title}\n\n"
        + "\n".join(f"### {table.title}\n\n{markdown(table)}\n{table.note}".rstrip() + "\n" for table in section.tables)
        for section in page.sections
        if section.tables
    )


def write_page(page: Page, path: Path) -> None:
    """Write the page, and its tables as Markdown beside it; a half-written one never takes the place of a whole one."""
    text = render(page)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
    write_text(path.with_name(TABLES), tables(page))
