"""The pages of the documentation site, up to what MkDocs makes of them."""

from __future__ import annotations

import fnmatch
import functools
import posixpath
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from tools.site.docstrings import to_markdown
from tools.site.hook import on_config
from tools.site.pages import assemble, collect, links

import masthead

ROOT = Path(__file__).parents[2]
PAGES = functools.cache(collect)


class Loader(yaml.SafeLoader):
    """Reads mkdocs.yml, with a tag that names a function."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)
CONFIG = yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), Loader)


@dataclass
class Config:
    """The part of MkDocs' configuration that the hook sets."""

    copyright: str | None


def in_navigation(entry: Any) -> set[str]:
    if isinstance(entry, str):
        return {entry}
    found: set[str] = set()
    return found.union(*map(in_navigation, entry.values() if isinstance(entry, dict) else entry))


def test_every_page_is_in_the_navigation_and_every_entry_is_a_page() -> None:
    pages = {page for page in PAGES() if page.endswith(".md")}
    listed = CONFIG["not_in_nav"].split()

    left_out = {page for page in pages if any(fnmatch.fnmatch(f"/{page}", pattern) for pattern in listed)}

    assert pages - left_out <= in_navigation(CONFIG["nav"]) <= pages


def test_a_page_named_readme_is_listed_in_its_section() -> None:
    # With this feature, such a page is reached by the title of its section alone.
    assert "navigation.indexes" not in CONFIG["theme"]["features"]
    assert {"decisions/README.md", "examples/README.md"} <= in_navigation(CONFIG["nav"])


def test_every_link_of_a_page_leads_to_a_page() -> None:
    for path, text in PAGES().items():
        if isinstance(text, str):
            for target, _ in links(text):
                assert posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) in PAGES(), path


def test_every_public_name_is_in_the_reference() -> None:
    module = ""
    for line in (ROOT / "docs/api.txt").read_text("utf-8").splitlines():
        if found := re.match(r"(masthead[\w.]*|The groups .*)$", line):
            module = found[0]
        elif (found := re.match(r"    (?:class |async def |def )?(\w+)", line)) and " = " not in line:
            text = PAGES().get(f"reference/{module}.md")
            if isinstance(text, str):
                assert f"### {found[1]} {{: #{found[1]} }}" in text, line


def test_special_methods_have_headings_that_markdown_does_not_take_for_emphasis() -> None:
    for path, text in PAGES().items():
        if isinstance(text, str) and path.startswith("reference/"):
            assert not re.search(r"^#+ .*__", text, re.MULTILINE), path


def test_the_reference_has_no_docstring_of_a_builtin_type() -> None:
    docstrings = {str(each.__doc__).partition("\n")[0] for each in (object.__init__, dict)}
    for path, text in PAGES().items():
        if isinstance(text, str) and path.startswith("reference/"):
            assert docstrings.isdisjoint(text.splitlines()), path


def test_a_link_named_after_a_file_gets_the_title_of_its_page() -> None:
    page = PAGES()["project/changelog.md"]

    assert isinstance(page, str)
    assert "[Operators](../operators.md)" in page
    for path, text in PAGES().items():
        assert not isinstance(text, str) or not re.search(r"\[[\w./-]+\.md\]\(", text), path


def test_pages_that_have_not_changed_are_not_written_again(tmp_path: Path) -> None:
    assemble(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.md")}
    (tmp_path / "old.md").write_text("gone", encoding="utf-8")

    assemble(tmp_path)

    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.md")} == before


def test_a_docstring_becomes_markdown() -> None:
    docstring = """Do something with `Thing`.

    ::

        thing.do()

    Args:
        name: What it is called, at
            length.

    Raises:
        ValueError: If not.
    """

    assert to_markdown(docstring, {"Thing": "x.md#Thing"}.get).split("\n\n") == [
        "Do something with [`Thing`](x.md#Thing).",
        "```python\nthing.do()\n```",
        "**Args**",
        "- `name`: What it is called, at length.",
        "**Raises**",
        "- `ValueError`: If not.\n",
    ]


@pytest.mark.parametrize(("text", "language"), [("await x.y()", "python"), ("a ──> b", "text")])
def test_a_literal_block_is_python_if_it_compiles(text: str, language: str) -> None:
    assert f"```{language}\n{text}\n```" in to_markdown(f"See::\n\n    {text}\n\nThat is all.")


def test_names_are_searched_as_they_are_written() -> None:
    (search,) = (plugin["search"] for plugin in CONFIG["plugins"] if "search" in plugin)
    separator = re.compile(search["separator"])

    assert separator.split("wait_for_cache_sync") == ["wait_for_cache_sync"]
    assert separator.split("ctx.apply(Pod)") == ["ctx", "apply", "Pod", ""]
    assert separator.split("1.36") == ["1.36"]


def test_every_page_names_the_version() -> None:
    config = Config(copyright=None)
    on_config(config)

    assert config.copyright == f"Masthead {masthead.__version__}"
