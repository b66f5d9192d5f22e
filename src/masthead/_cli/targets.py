"""Finds the manager that a command is about: ``app.py``, ``package.module`` or ``package.module:name``."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

if TYPE_CHECKING:
    from types import ModuleType, TracebackType

    from masthead._controller.manager import Manager

__all__ = [
    "BrokenTargetError",
    "ManagerTarget",
    "TargetError",
    "load_attribute",
    "load_manager",
    "load_module",
    "parse_target",
    "source_folders",
]

_DEFAULT_NAME: Final = "app"


class TargetError(Exception):
    """There is no such manager; the message has the correct spelling."""


class BrokenTargetError(Exception):
    """The module raised when it was imported. The cause is its error, whose traceback begins in the user's code."""


class ManagerTarget(NamedTuple):
    """The target of a command.

    Attributes:
        text: The argument.
        file: The file; None if it is a module by name.
        module: The name of the module.
        name: The name of the manager in it; empty if it was not given.
        root: The folder from which the module can be imported; None if the module is on the path.
    """

    text: str
    file: Path | None
    module: str
    name: str
    root: Path | None


def parse_target(text: str) -> ManagerTarget:
    """Parse a target.

    Raises:
        TargetError: If it is neither a file nor the name of a module.
    """
    where, name = text, ""
    head, colon, tail = text.rpartition(":")
    # The colon of "C:\app.py" belongs to the file.
    if colon and all(part.isidentifier() for part in tail.split(".")) and len(head) > 1:
        where, name = head, tail
    if where.endswith(".py") or "/" in where or os.sep in where:
        return _parse_file(text, Path(where), name)
    if not all(part.isidentifier() for part in where.split(".")):
        raise TargetError(f"{text!r} is not a module or a file; write package.module:app or app.py")
    return ManagerTarget(text, None, where, name, None)


def _parse_file(text: str, file: Path, name: str) -> ManagerTarget:
    if file.is_dir():
        raise TargetError(f"{file} is a folder; name the file in it that has the manager")
    if not file.is_file():
        raise TargetError(f"there is no file {file}")
    file = file.resolve()
    # A file of a package is imported by its full name, so that its relative imports work.
    parts, root = [] if file.name == "__init__.py" else [file.stem], file.parent
    while (root / "__init__.py").is_file():
        parts.insert(0, root.name)
        root = root.parent
    return ManagerTarget(text, file, ".".join(parts), name, root)


def source_folders(target: ManagerTarget) -> list[Path]:
    """The folders whose files a program consists of: where it is imported from, without importing it."""
    found = [target.root or Path.cwd()]
    if target.file is None:
        try:
            spec = importlib.util.find_spec(target.module.partition(".")[0])
        except (ImportError, ValueError):
            spec = None
        locations = list(spec.submodule_search_locations or ()) if spec is not None else []
        if spec is not None and spec.origin and not locations:
            locations = [str(Path(spec.origin).parent)]
        found += [Path(location).resolve() for location in locations]
    # A folder within another one is watched with it.
    unique = list(dict.fromkeys(found))
    return [path for path in unique if not any(path.is_relative_to(other) for other in unique if other != path)]


def load_manager(target: ManagerTarget) -> Manager:
    """Import the module of a target, and return the manager in it.

    Raises:
        TargetError: If there is no such module, or no such manager in it.
        BrokenTargetError: If the module raises when it is imported.
    """
    return _find_manager(load_module(target), target)


def load_attribute(target: ManagerTarget) -> object:
    """Import the module of a target, and return the object of its name in it, or else the manager.

    Raises:
        TargetError: If there is no such module or object.
        BrokenTargetError: If the module raises when it is imported.
    """
    module = load_module(target)
    return _attribute(module, target, _suggestion(module)) if target.name else _find_manager(module, target)


def load_workload_attribute(target: ManagerTarget) -> object:
    """Import the module of a target, and return the object of its name in it, which need not be a manager.

    Raises:
        TargetError: If there is no such module or object.
        BrokenTargetError: If the module raises when it is imported.
    """
    module = load_module(target)
    names = [name for name, value in vars(module).items() if _is_workload(module, value)]
    return _attribute(module, target, f"; write {' or '.join(f':{name}' for name in sorted(names))}" if names else "")


def load_module(target: ManagerTarget) -> ModuleType:
    """Import the module of a target.

    Raises:
        TargetError: If there is no such module.
        BrokenTargetError: If it raises when it is imported.
    """
    # In front, as for `python app.py`: the user's modules win over installed ones.
    sys.path.insert(0, str(target.root or Path.cwd()))
    try:
        return _import(target)
    except ModuleNotFoundError as error:
        # Not a module that the user's module fails to import.
        if error.name is not None and f"{target.module}.".startswith(f"{error.name}."):
            raise TargetError(
                f"there is no module {error.name!r} in {Path.cwd()} or on the Python path{_source_hint(error.name)}"
            ) from None
        raise _broken(target, error) from error
    except (KeyboardInterrupt, TargetError):
        raise
    # BaseException, since a module may call sys.exit() when it is imported.
    except BaseException as error:
        raise _broken(target, error) from error


def _source_hint(module: str) -> str:
    """What to do about a module in the folder "src", where it is found only if its project is installed."""
    path = Path.cwd() / "src" / module.replace(".", "/")
    is_there = path.is_dir() or path.with_suffix(".py").is_file()
    return "; it is in src: install the project, or set PYTHONPATH=src" if is_there else ""


def _import(target: ManagerTarget) -> ModuleType:
    name = target.module
    if target.file is None or "." in name:
        return importlib.import_module(name)
    loaded = sys.modules.get(name)
    if loaded is not None and getattr(loaded, "__file__", None) == str(target.file):
        return loaded
    if name in sys.stdlib_module_names or loaded is not None:
        # An operator is often called operator.py, as a module of the standard library is.
        name = f"masthead_run_{name}"
    spec = importlib.util.spec_from_file_location(name, target.file)
    if spec is None or spec.loader is None:
        raise TargetError(f"{target.file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # Before it runs: dataclasses and pickle look their module up there.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _broken(target: ManagerTarget, error: BaseException) -> BrokenTargetError:
    """The error of an import, without our frames and those of the import machinery."""
    traceback = error.__traceback__
    while traceback is not None and _is_machinery(traceback):
        traceback = traceback.tb_next
    error.__traceback__ = traceback
    if isinstance(error, SystemExit):
        return BrokenTargetError(
            f"{target.text} exits when it is imported; put what runs it under `if __name__ == '__main__':`"
        )
    return BrokenTargetError(f"{target.text} cannot be imported: {type(error).__name__}: {error}")


def _is_machinery(traceback: TracebackType) -> bool:
    file = traceback.tb_frame.f_code.co_filename
    return file == __file__ or file.startswith("<frozen importlib") or "importlib" in Path(file).parts


def _find_manager(module: ModuleType, target: ManagerTarget) -> Manager:
    from masthead._controller.manager import Manager

    if target.name:
        found = _attribute(module, target, _suggestion(module))
        if not isinstance(found, Manager):
            kind = type(found).__name__
            raise TargetError(f"{target.text} is not a Manager but a {kind}{_suggestion(module)}")
        return found
    default: object = vars(module).get(_DEFAULT_NAME)
    if isinstance(default, Manager):
        return default
    managers = _managers(module)
    # By identity: `app = manager = Manager()` is one manager with two names.
    if len({id(manager) for manager in managers.values()}) == 1:
        return next(iter(managers.values()))
    if managers:
        raise TargetError(f"{target.text} has several managers{_suggestion(module)}")
    raise TargetError(f"{target.text} has no manager; write `app = masthead.Manager()` there")


def _is_workload(module: ModuleType, value: object) -> bool:
    """Whether a value is an async function that a module has defined itself."""
    return inspect.iscoroutinefunction(value) and value.__module__ == module.__name__


def _attribute(module: ModuleType, target: ManagerTarget, suggestion: str) -> object:
    found: object = module
    for part in target.name.split("."):
        try:
            found = cast("object", getattr(found, part))
        except AttributeError:
            raise TargetError(
                f"{target.text.removesuffix(f':{target.name}')} has no attribute {target.name!r}{suggestion}"
            ) from None
    return found


def _managers(module: ModuleType) -> dict[str, Manager]:
    from masthead._controller.manager import Manager

    return {name: value for name, value in vars(module).items() if isinstance(value, Manager)}


def _suggestion(module: ModuleType) -> str:
    names = sorted(_managers(module))
    if not names:
        return "; there is no Manager in it"
    return f"; write {' or '.join(f':{name}' for name in names)}"
