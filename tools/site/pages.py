"""The pages of the site: documents of the repository, and what they link to, with links that lead to pages.

A link in a document is relative to its file, so that it works where the repository is read. On the site the same link
leads to the page of that file: a document, or the text of a program.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import shutil
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from tools.site import reference

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ROOT", "assemble", "collect", "links"]

ROOT: Final = Path(__file__).parents[2]
_OUTPUT: Final = ROOT / "build" / "docs"
_DOCUMENTS: Final = {
    "README.md": "index.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "SECURITY.md": "project/security.md",
    "CODE_OF_CONDUCT.md": "project/code-of-conduct.md",
}
"""The pages of documents outside of docs/. The front page of the site is docs/index.md, not the README."""
_LINK: Final = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?(\))")
_FILE_NAME: Final = re.compile(r"\[[\w./-]+\.md\](?=\((?!https?:)([^)#\s]+\.md)[#)])")
_CODE: Final = re.compile(r"(^ *```.*?^ *```$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
_LANGUAGES: Final = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".sh": "sh"}


def links(text: str) -> Iterator[tuple[str, str]]:
    """The links of a document to files of the repository: the path, and the anchor with its ``#``."""
    for index, part in enumerate(_CODE.split(text)):
        if not index % 2:
            yield from ((found[2], found[3] or "") for found in _LINK.finditer(part))


def collect() -> dict[str, str | Path]:
    """The pages by their paths within the site: their text, or a file to copy."""
    found: dict[str, str | Path] = {
        **reference.pages(),
        "assets/site.css": Path(__file__).with_name("site.css"),
    }
    pending = [
        *(ROOT / "docs").rglob("*"),
        *(ROOT / document for document in _DOCUMENTS if document != "README.md"),
    ]
    seen: set[Path] = set()
    while pending:
        path = pending.pop()
        if path in seen or path == ROOT / "README.md" or (path.is_dir() and path.is_relative_to(ROOT / "docs")):
            continue
        seen.add(path)
        text = _page(path)
        if isinstance(text, str) and path.suffix == ".md":
            pending += [path.parent / target for target, _ in links(text)]
            text = _with_links_to_pages(text, path)
        found[_place(path)] = text
        pending = [_normal(page) for page in pending]
    return found


def assemble(output: Path = _OUTPUT) -> None:
    """Write changed pages and remove leftovers; unchanged files are not touched."""
    pages = collect()
    for path, content in pages.items():
        target = output / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, Path):
            if not target.exists() or target.read_bytes() != content.read_bytes():
                shutil.copyfile(content, target)
        elif not target.exists() or target.read_text("utf-8") != content:
            target.write_text(content, encoding="utf-8", newline="\n")
    for old in output.rglob("*"):
        if old.is_file() and old.relative_to(output).as_posix() not in pages:
            old.unlink()


def _normal(path: Path) -> Path:
    return Path(os.path.normpath(path))


def _place(path: Path) -> str:
    """The path of the page about a file, within the site."""
    name = path.relative_to(ROOT).as_posix()
    if name in _DOCUMENTS:
        return _DOCUMENTS[name]
    if path.is_relative_to(ROOT / "docs"):
        page = path.relative_to(ROOT / "docs").as_posix()
        return f"{page}/README.md" if path.is_dir() else page
    if path.is_dir():
        return f"{name}/README.md"
    return name if path.suffix in {".md", ".svg", ".png"} else f"{name}.md"


def _page(path: Path) -> str | Path:
    """The text of a page about a file or folder: documents as they are, programs as code."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
        parts = [_listing(file, file.relative_to(path).as_posix()) for file in files]
        return "\n".join([f"# {path.relative_to(ROOT).as_posix()}\n", *parts])
    if path.suffix == ".md":
        return path.read_text("utf-8")
    if path.is_relative_to(ROOT / "docs") or path.suffix in {".svg", ".png"}:
        return path
    return f"# {path.relative_to(ROOT).as_posix()}\n\n{_listing(path)}"


def _listing(path: Path, title: str = "") -> str:
    if path.suffix == ".ipynb":
        return _notebook(path)
    language = _LANGUAGES.get(path.suffix, "text")
    heading = f"## {title}\n\n" if title else ""
    return f"{heading}````{language}\n{path.read_text('utf-8').strip()}\n````\n"


def _notebook(path: Path) -> str:
    """The cells of a notebook, without their outputs."""
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(path.read_text("utf-8"))["cells"]]
    return "\n\n".join(f"```python\n{text}\n```" if kind == "code" else text for kind, text in cells) + "\n"


def _with_links_to_pages(text: str, path: Path) -> str:
    here = PurePosixPath(_place(path)).parent.as_posix()

    def place(found: re.Match[str]) -> str:
        target = _place(_normal(path.parent / found[2]))
        return f"{found[1]}{posixpath.relpath(target, here)}{found[3] or ''}{found[4]}"

    def title(found: re.Match[str]) -> str:
        return f"[{_title(_normal(path.parent / found[1]))}]"

    parts = _CODE.split(text)
    return "".join(
        _code(part) if index % 2 else _LINK.sub(place, _FILE_NAME.sub(title, part)) for index, part in enumerate(parts)
    )


def _title(path: Path) -> str:
    """What the site calls a document, where the repository names its file."""
    return path.read_text("utf-8").partition("\n")[0].removeprefix("# ")


def _code(text: str) -> str:
    """Code as the site wants it: within a table, GitHub needs a backslash before a bar, which MkDocs would show."""
    return text if text.lstrip().startswith("```") else text.replace("\\|", "|")
