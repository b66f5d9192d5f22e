"""The variables of the built-in shell: their values, and which of them are exported or read-only."""

from __future__ import annotations

import errno
import os
import re
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["MAX_TEXT", "NAME", "HiddenVariable", "ReadOnlyVariableError", "ShellVariables", "VariableScope"]

MAX_TEXT: Final = 1024 * 1024
"""Characters of a word, and of all variables together."""
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class ReadOnlyVariableError(OSError):
    """A variable is read-only."""

    def __init__(self, name: str) -> None:
        super().__init__(errno.EPERM, f"{name}: is read only")


class HiddenVariable(NamedTuple):
    """A variable while another of the same name hides it; without a value, it was not set."""

    value: str | None
    is_exported: bool


VariableScope: TypeAlias = dict[str, HiddenVariable]


class ShellVariables:
    """The variables of a shell.

    Args:
        values: The values by name, all of them exported.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values: dict[str, str] = dict(values)
        self.exported: set[str] = set(values)
        self.read_only: set[str] = set()
        self._size = sum(len(name) + len(value) for name, value in values.items())

    def copy(self) -> ShellVariables:
        """Return a copy for a subshell."""
        copied = ShellVariables({})
        copied.values, copied.exported = dict(self.values), set(self.exported)
        copied.read_only, copied._size = set(self.read_only), self._size
        return copied

    def exported_copy(self) -> ShellVariables:
        """Return the variables of a program that this shell starts."""
        return ShellVariables(self.environment())

    def environment(self) -> dict[str, str]:
        """Return the exported variables."""
        return {name: value for name, value in self.values.items() if name in self.exported}

    def get(self, name: str, default: str = "") -> str:
        """Return a value."""
        return self.values.get(name, default)

    def assign(self, name: str, value: str, *, exports: bool = False) -> None:
        """Set a variable.

        Raises:
            OSError: If it is read-only, or all variables together are too long.
        """
        if name in self.read_only:
            raise ReadOnlyVariableError(name)
        old = self.values.get(name)
        # Many small variables take memory, too.
        self._charge(len(value) - len(old) if old is not None else len(name) + len(value))
        self.values[name] = value
        if exports:
            self.export(name)

    def export(self, name: str) -> None:
        """Export a variable, which may be set later.

        Raises:
            OSError: If there are too many.
        """
        if name not in self.exported:
            self._charge(len(name))
            self.exported.add(name)

    def protect(self, name: str) -> None:
        """Make a variable read-only.

        Raises:
            OSError: If there are too many.
        """
        if name not in self.read_only:
            self._charge(len(name))
            self.read_only.add(name)

    def unset(self, name: str) -> None:
        """Remove a variable.

        Raises:
            ReadOnlyVariableError: If it is read-only.
        """
        if name in self.read_only:
            raise ReadOnlyVariableError(name)
        value = self.values.pop(name, None)
        if value is not None:
            self._size -= len(name) + len(value)
        self.exported.discard(name)

    def hide(self, name: str, scope: VariableScope) -> None:
        """Remember a variable in a scope, unless it is in the scope already.

        Raises:
            OSError: If all variables together, with the hidden ones, are too long.
        """
        if name not in scope:
            value = self.values.get(name)
            self._charge(len(name) + len(value or ""))
            scope[name] = HiddenVariable(value, name in self.exported)

    def reveal(self, scope: VariableScope) -> None:
        """Set the variables of a scope to what they were."""
        for name, hidden in scope.items():
            self._size -= len(name) + len(hidden.value or "")
            # A variable that has become read-only keeps its value.
            if name in self.read_only:
                continue
            self.unset(name)
            if hidden.value is not None:
                self.values[name] = hidden.value
                self._size += len(name) + len(hidden.value)
            if hidden.is_exported:
                self.exported.add(name)

    def _charge(self, size: int) -> None:
        # Shrinking works even above the limit: an environment may be larger.
        if size > 0 and self._size + size > MAX_TEXT:
            raise OSError(errno.E2BIG, os.strerror(errno.E2BIG))
        self._size += size
