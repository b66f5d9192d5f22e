"""The files of a package: what they should say, and how that differs from what is there."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from masthead.codegen import render, types
from masthead.errors import GenerateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from masthead.codegen.spec import Spec


def files_for(
    spec: Spec, package: str, *, groups: Iterable[str] = (), docs: bool = False
) -> dict[PurePosixPath, str]:
    """Work out every file of the package.

    Args:
        spec: What to generate from.
        package: The package's dotted name.
        groups: Only these API groups; none means all.
        docs: Take the API's documentation over into docstrings.

    Raises:
        GenerateError: if there is nothing to generate, or a schema refers to one that is not there.
    """
    wanted = frozenset(groups)
    modules = [
        module
        for module in types.modules_of(spec, package, docs=docs)
        if not wanted or module.group_version.group in wanted
    ]
    if not modules:
        raise GenerateError(
            f"there are no kinds of {', '.join(sorted(wanted)) or 'any group'} to generate types for"
        )
    files = {PurePosixPath("index.py"): render.render_index(modules)}
    for module in modules:
        group, version = module.name.removeprefix(f"{package}.").split(".")
        files[PurePosixPath(group, f"{version}.py")] = render.render_module(module)
        files[PurePosixPath(group, "__init__.py")] = render.first_line(_group_title(module)) + "\n"
    files[PurePosixPath("__init__.py")] = (
        render.first_line("Typed objects, one module per group and version") + "\n"
    )
    return dict(sorted(files.items()))


def _group_title(module: types.ModuleDef) -> str:
    return f"The group {module.group_version.group}" if module.group_version.group else "The core group"


def changes(files: Mapping[PurePosixPath, str], folder: Path) -> list[PurePosixPath]:
    """The files that differ from what is in the folder, and generated ones there that should not be."""
    differing = [path for path, text in files.items() if _text_at(folder / path) != text]
    return sorted([*differing, *_leftovers(files, folder)])


def write(files: Mapping[PurePosixPath, str], folder: Path) -> None:
    """Bring the folder up to date; files that people wrote stay as they are.

    Raises:
        GenerateError: if a file that the generator did not write is in the way.
    """
    for path in files:
        standing = _text_at(folder / path)
        if standing and not _is_generated(standing):
            raise GenerateError(f"{folder / path} was not generated; move it out of the way")
    for path in _leftovers(files, folder):
        (folder / path).unlink()
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")


def _leftovers(files: Mapping[PurePosixPath, str], folder: Path) -> list[PurePosixPath]:
    found = (PurePosixPath(path.relative_to(folder).as_posix()) for path in folder.rglob("*.py"))
    return [path for path in found if path not in files and _is_generated(_text_at(folder / path))]


def _text_at(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _is_generated(text: str) -> bool:
    return render.MARK in text.partition("\n")[0]
