"""The stub overlay: the modules of `masthead.api` as stubs, with the descriptions of a cluster or of a spec file.

It is a partial stub package (PEP 561): type checkers and editors take its modules, and all others from the library.
Types and fields are those of the library; only docstrings differ.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from masthead._codegen import render, types
from masthead._codegen.layout import docstring
from masthead.errors import GenerateError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from masthead._codegen.definitions import ClassDef
    from masthead._codegen.spec import Spec

__all__ = ["COMMAND", "FOLDER", "is_current", "remove_overlay", "stub_files", "with_docstrings", "write_overlay"]

COMMAND: Final = "masthead stubs"
FOLDER: Final = "masthead-stubs"
"""The name of the package, as PEP 561 wants it."""
_PACKAGE: Final = "masthead.api"
_MARKER: Final = PurePosixPath("py.typed")
_MARKER_TEXT: Final = "partial\n"


@dataclass(frozen=True, slots=True)
class ClassDocs:
    """The descriptions of a class.

    Attributes:
        doc: Its own; empty for none.
        fields: Those of its fields, by attribute.
    """

    doc: str = ""
    fields: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of(cls, definition: ClassDef) -> ClassDocs:
        """Take the descriptions of a definition."""
        return cls(definition.doc, {one.attribute: one.doc for one in definition.fields if one.doc})


def stub_files(spec: Spec) -> dict[PurePosixPath, str]:
    """Make the files of the overlay.

    Args:
        spec: The API with its descriptions.

    Raises:
        GenerateError: If it describes nothing of what the library has.
    """
    files: dict[PurePosixPath, str] = {}
    for module in types.modules_of(spec, _PACKAGE, docs=True):
        docs = {definition.name: ClassDocs.of(definition) for definition in module.classes}
        source = _source_of(module.name)
        # Without descriptions, a stub would only repeat the module.
        if source and any(described.doc or described.fields for described in docs.values()):
            path = PurePosixPath(*module.name.split(".")[1:]).with_suffix(".pyi")
            files[path] = with_docstrings(source, docs, str(module.group_version))
    if not files:
        raise GenerateError(
            f"the source describes no type of {_PACKAGE}; name a cluster, or documents with descriptions"
        )
    return {_MARKER: _MARKER_TEXT, **files}


def _source_of(module: str) -> str:
    """The source of a module of the library; empty for one that it does not have, such as that of a custom resource."""
    try:
        # Its source, not the module: nothing of it has to be imported.
        found = find_spec(module)
    except ModuleNotFoundError:
        return ""
    return Path(found.origin).read_text("utf-8") if found and found.origin else ""


def with_docstrings(source: str, docs: Mapping[str, ClassDocs], title: str) -> str:
    """Replace docstrings of a module's classes and fields; those without a description keep theirs.

    Args:
        source: The module.
        docs: The descriptions, by class.
        title: What the module contains, for its first line.
    """
    tree = ast.parse(source)
    # The first line names the command, so that the file may be replaced and removed.
    edits = [_Edit(0, tree.body[0].end_lineno or 1, [render.first_line(title, COMMAND)])]
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name in docs:
            edits += _edits(node, docs[node.name])
    lines = source.splitlines()
    # From the end, so that the lines of earlier edits keep their numbers.
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        lines[edit.start : edit.end] = edit.lines
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class _Edit:
    """Lines to be replaced, counted from 0: none, to insert some."""

    start: int
    end: int
    lines: list[str]


def _edits(definition: ast.ClassDef, docs: ClassDocs) -> Iterator[_Edit]:
    first = definition.body[0]
    if docs.doc:
        yield _docstring(first, docs.doc, after=first.lineno - 1)
    for statement, following in pairwise([*definition.body, ast.Pass()]):
        target = statement.target if isinstance(statement, ast.AnnAssign) else None
        if isinstance(target, ast.Name) and (text := docs.fields.get(target.id)):
            yield _docstring(following, text, after=statement.end_lineno or statement.lineno)


def _docstring(statement: ast.stmt, text: str, *, after: int) -> _Edit:
    """Replace a docstring; insert one after a line if the statement is something else."""
    lines = [f"    {line}" if line else "" for line in docstring(text, indent=4)]
    is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    # An annotation that is followed by another field has no docstring yet.
    if is_docstring and isinstance(statement, ast.Expr):
        return _Edit(statement.lineno - 1, statement.end_lineno or statement.lineno, lines)
    return _Edit(after, after, lines)


def is_current(files: Mapping[PurePosixPath, str], folder: Path) -> bool:
    """Whether the overlay in a folder consists of these files."""
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in _own_files(folder)} == {
        str(path): text for path, text in files.items()
    }


def write_overlay(files: Mapping[PurePosixPath, str], folder: Path) -> None:
    """Replace the overlay in a folder.

    Raises:
        GenerateError: If the folder has files of others.
        OSError: If a file cannot be written.
    """
    # An older cluster may have had more groups.
    remove_overlay(folder)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8", newline="\n")


def remove_overlay(folder: Path) -> bool:
    """Remove the overlay; return whether there was one.

    Raises:
        GenerateError: If the folder has files of others.
        OSError: If a file cannot be removed.
    """
    if not folder.is_dir():
        return False
    own = _own_files(folder)
    others = sorted({path for path in folder.rglob("*") if path.is_file()} - set(own))
    # A folder of that name may be somebody's own stubs.
    if others:
        raise GenerateError(f"{others[0]} was not written by {COMMAND}; move it out of the way")
    for path in own:
        path.unlink()
    # The deepest first: a folder must be empty to be removed.
    for path in sorted((path for path in folder.rglob("*") if path.is_dir()), reverse=True):
        path.rmdir()
    folder.rmdir()
    return True


def _own_files(folder: Path) -> list[Path]:
    # By their first line, as with generated packages.
    stubs = [path for path in folder.rglob("*.pyi") if render.is_generated(path.read_text("utf-8", "replace"))]
    marker = folder / _MARKER
    is_marked = marker.is_file() and marker.read_text("utf-8", "replace") == _MARKER_TEXT
    return sorted([*stubs, *([marker] if is_marked else [])])
