"""Makes the files of a package, compares them with those in its folder, and replaces them."""

from __future__ import annotations

import ast
import contextlib
import keyword
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, cast

from masthead._codegen import render, types
from masthead.errors import GenerateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from masthead._codegen.definitions import ModuleDef
    from masthead._codegen.spec import Spec

_INDEX: Final = PurePosixPath("index.py")
_PACKAGE: Final = PurePosixPath("__init__.py")


def files_for(
    spec: Spec,
    package: str,
    *,
    groups: Iterable[str] = (),
    docs: bool = False,
    command: str = render.COMMAND,
) -> dict[PurePosixPath, str]:
    """Make every file of the package.

    Args:
        spec: The API to generate types for.
        package: The package's dotted name.
        groups: Only these API groups and the types that they refer to; all if empty. The core group is ``""``.
        docs: Copy the API's documentation into docstrings.
        command: The command that regenerates the files, for their first lines.

    Raises:
        GenerateError: If there is nothing to generate, the name of the package is invalid, or a schema refers to a
            missing one.
    """
    _check_package(package)
    modules = _chosen(types.modules_of(spec, package, docs=docs), frozenset(groups))
    files = module_files(modules, command)
    files[_INDEX] = render.render_index(modules, command)
    return dict(sorted(files.items()))


def module_files(modules: Iterable[ModuleDef], command: str) -> dict[PurePosixPath, str]:
    """Make the files of some modules and of the packages that contain them, without an index.

    Args:
        modules: The modules.
        command: The command that regenerates the files, for their first lines.
    """
    package = render.first_line("Typed objects, one module per group and version", command)
    files = {_PACKAGE: f"{package}\n"}
    for module in modules:
        path = _path(module.name)
        files[path] = render.render_module(module, command)
        files[path.parent / _PACKAGE] = render.first_line(_group_title(module), command) + "\n"
    return files


def _check_package(package: str) -> None:
    if any(not part.isidentifier() or keyword.iskeyword(part) for part in package.split(".")):
        raise GenerateError(
            f'"{package}" cannot be the name of a package; give one that Python can import: --package my.api'
        )


def _chosen(modules: list[ModuleDef], groups: frozenset[str]) -> list[ModuleDef]:
    """The modules of these groups, and the modules that they import from."""
    there = {module.group_version.group for module in modules}
    if not modules or not groups <= there:
        missing, known = (", ".join(sorted(group or "core" for group in names)) for names in (groups - there, there))
        raise GenerateError(
            f"there are no kinds of {missing or 'any group'} to generate types for; the groups here: {known or 'none'}"
        )
    by_name = {module.name: module for module in modules}
    wanted = [module.name for module in modules if not groups or module.group_version.group in groups]
    reached: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name not in reached:
            reached.add(name)
            wanted += by_name[name].needs() & by_name.keys()
    return [module for module in modules if module.name in reached]


def _path(module: str) -> PurePosixPath:
    """The path of a module's file in the package."""
    return PurePosixPath(*module.split(".")[-2:]).with_suffix(".py")


def _group_title(module: ModuleDef) -> str:
    return f"The group {module.group_version.group}" if module.group_version.group else "The core group"


def changes(files: Mapping[PurePosixPath, str], folder: Path) -> list[PurePosixPath]:
    """The files that differ from those in the folder, and files of an earlier run that are obsolete."""
    differing = [path for path, text in files.items() if _text_at(folder / path) != text]
    return sorted([*differing, *_leftovers(files, folder)])


def write(files: Mapping[PurePosixPath, str], folder: Path) -> None:
    """Bring the folder up to date; files that are not generated are left alone.

    Raises:
        GenerateError: If a file to be written exists and is not generated.
    """
    for path in files:
        standing = _text_at(folder / path)
        # Checked for all files before the first is written.
        if standing and not render.is_generated(standing):
            raise GenerateError(f"{folder / path} was not generated; move it out of the way")
    for path in list(_leftovers(files, folder)):
        (folder / path).unlink()
        with contextlib.suppress(OSError):  # not empty
            (folder / path).parent.rmdir()
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8", newline="\n")


def _leftovers(files: Mapping[PurePosixPath, str], folder: Path) -> Iterator[PurePosixPath]:
    """The files of an earlier run, listed in its index, that this run does not write."""
    # The old index knows the files of an earlier run; other files in the folder are the user's.
    modules = [_path(module) for module in _indexed_modules(_text_at(folder / _INDEX))]
    for path in sorted({*modules, *(module.parent / _PACKAGE for module in modules)}):
        if path not in files and render.is_generated(_text_at(folder / path)):
            yield path


def _indexed_modules(index: str) -> list[str]:
    """The modules listed in an index; empty if it is not a generated one."""
    if not render.is_generated(index):
        return []
    try:
        table = next(statement for statement in ast.parse(index).body if isinstance(statement, ast.AnnAssign)).value
        kinds = cast("dict[str, tuple[str, object]]", ast.literal_eval(cast("ast.expr", table)))
        return [module for module, _ in kinds.values()]
    except (SyntaxError, StopIteration, ValueError, TypeError, AttributeError):
        return []


def _text_at(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
