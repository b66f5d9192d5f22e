"""``python -m tools.document_types``: checks the examples of the documents with ``mypy --strict``.

The blocks of ```` ```python ```` of a document are one program, as in the tests. Every document becomes a module with
the same line numbers, and one run of mypy checks all modules.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

__all__ = ["check", "main", "program"]

_ROOT: Final = Path(__file__).parents[1]
_PATTERNS: Final = ("*.md", "docs/**/*.md", "examples/**/*.md")
_BLOCK: Final = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
_OPTIONS: Final = ("--strict", "--config-file=", "--no-error-summary", "--hide-error-context")


def program(text: str) -> str:
    """Return the examples of a document as a program, each on its lines; empty if there are none."""
    lines = [""] * text.count("\n")
    for block in _BLOCK.finditer(text):
        begin = text.count("\n", 0, block.start(1))
        code = block[1].splitlines()
        lines[begin : begin + len(code)] = code
    return "\n".join(lines).rstrip() + "\n" if any(lines) else ""


def check(documents: dict[str, str], cache: Path) -> str:
    """Return the errors in the examples of documents, by the document's name and line.

    Args:
        documents: Their texts, by name.
        cache: The folder of mypy's cache.
    """
    programs = {name: made for name, text in documents.items() if (made := program(text))}
    if not programs:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        files = {f"{re.sub(r'[^a-z0-9]', '_', name.lower())}.py": name for name in programs}
        for file, name in files.items():
            (Path(folder) / file).write_text(programs[name], encoding="utf-8")
        command = [sys.executable, "-m", "mypy", *_OPTIONS, f"--cache-dir={cache}", *files]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    found = re.sub(r"^([a-z0-9_]+\.py)(?=:\d)", lambda match: files[match[1]], done.stdout, flags=re.MULTILINE)
    return found + done.stderr if done.returncode else ""


def main() -> int:
    """Check all documents; returns 1 and prints the errors if there are some."""
    documents = {
        path.relative_to(_ROOT).as_posix(): path.read_text(encoding="utf-8")
        for pattern in _PATTERNS
        for path in sorted(_ROOT.glob(pattern))
    }
    found = check(documents, _ROOT / ".mypy_cache" / "documents")
    print(found or f"The examples of {len(documents)} documents are well typed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
