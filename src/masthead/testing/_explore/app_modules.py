"""Managers of modules: each replica gets one from a new execution of its module."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING, cast

from masthead._controller.manager import Manager as AsyncManager
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead import Manager

__all__ = ["ModuleApp", "as_factory"]


class ModuleApp:
    """Makes the manager of a module by executing the module again, as a new process would.

    Other modules are not executed again: what they remember survives a crash.

    Args:
        text: The module and the name of the manager: ``shop.main:app``.

    Raises:
        ArgumentError: If there is no such module or manager.
    """

    def __init__(self, text: str) -> None:
        self.text: str = text
        module, _, name = text.partition(":")
        self._module, self._name = module, name or "app"
        try:
            imported = importlib.import_module(module) if module else None
        except ModuleNotFoundError as error:
            # A failed import inside the module is an error of the module, with a clearer message.
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise
            imported = None
        if imported is None:
            raise ArgumentError(f"there is no module {module!r}; write 'package.module:app'", value=text)
        self._check(getattr(imported, self._name, None))

    def __call__(self) -> Manager:
        """Make a manager."""
        current = sys.modules[self._module]
        spec = current.__spec__
        assert spec is not None
        assert spec.loader is not None
        fresh = importlib.util.module_from_spec(spec)
        # Decorators and dataclasses look for their module there.
        sys.modules[self._module] = fresh
        try:
            spec.loader.exec_module(fresh)
        finally:
            # Tests hold classes of the first execution, and lookups by name must find the same ones.
            sys.modules[self._module] = current
        return self._check(getattr(fresh, self._name, None))

    def _check(self, app: object) -> Manager:
        if not isinstance(app, AsyncManager):
            raise ArgumentError(f"{self._module} has no manager called {self._name!r}", value=self.text)
        return cast("Manager", app)

    def __repr__(self) -> str:
        return f"ModuleApp({self.text!r})"


def as_factory(source: object) -> Callable[..., Manager]:
    """Return a function that makes managers, from such a function or from ``package.module:app``.

    Raises:
        ArgumentError: If it is neither.
    """
    if isinstance(source, str):
        return ModuleApp(source)
    if isinstance(source, AsyncManager):
        raise ArgumentError(
            "pass a function that makes the manager, or its module and name, such as 'shop.main:app': every replica "
            "needs a manager of its own",
            value=source,
        )
    if not callable(source):
        raise ArgumentError(f"{source!r} is not a function that makes a manager", value=source)
    return cast("Callable[..., Manager]", source)
