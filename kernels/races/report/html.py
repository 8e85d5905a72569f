"""The report as one HTML file: no network, no script from elsewhere, readable on paper.

Owns: rendering a page model with the template beside it. Does not own: what stands in it (`page_model`). Floor 2b.
Labels come from users' programs and from traces of strangers: everything is escaped by the template engine.
"""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from kernels.races.report.page_model import Page

_FOLDER = Path(__file__).with_name("page")


def page_html(page: Page) -> str:
    """The whole file."""
    # Style and script are files of ours without any placeholder; all that is filled in goes through the escaping.
    environment = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined)
    environment.trim_blocks = environment.lstrip_blocks = True
    style, script = (_FOLDER.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    return environment.get_template("page.html").render(page=page, style=style, script=script)
