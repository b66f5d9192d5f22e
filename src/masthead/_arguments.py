"""The arguments of programs such as ``masthead serve``: an error is one line, with a hint."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["ArgumentParser"]

_BAD_ARGUMENTS: Final = 2
_UNKNOWN: Final = "unrecognized arguments: "


class ArgumentParser(argparse.ArgumentParser):
    """A parser that reports errors like all commands do: one line instead of the whole usage."""

    def error(self, message: str) -> NoReturn:
        """End the process with code 2.

        Args:
            message: The problem.

        Raises:
            SystemExit: Always.
        """
        hint = self._nearest(message) or f"{self.prog} --help lists its options"
        self.exit(_BAD_ARGUMENTS, f"{self.prog}: {message}\nhint: {hint}\n")

    def _nearest(self, message: str) -> str:
        """Return a hint with the option most similar to an unknown one; empty without one."""
        import difflib  # imported after a typing error only, because programs must start quickly

        unknown = message.removeprefix(_UNKNOWN).partition(" ")[0].partition("=")[0]
        if not message.startswith(_UNKNOWN) or not unknown.startswith("--"):
            return ""
        near = difflib.get_close_matches(unknown, self._option_string_actions, n=1, cutoff=0.75)
        return f"did you mean {near[0]}?" if near else ""
