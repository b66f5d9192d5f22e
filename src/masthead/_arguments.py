"""The arguments of programs, such as ``masthead serve``: what is wrong with them is said in one line, with a hint."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["ArgumentParser"]

_BAD_ARGUMENTS: Final = 2
_UNKNOWN: Final = "unrecognized arguments: "


class ArgumentParser(argparse.ArgumentParser):
    """A parser whose errors look like those of all commands, instead of beginning with the whole usage."""

    def error(self, message: str) -> NoReturn:
        """End the process with code 2.

        Args:
            message: What is wrong.

        Raises:
            SystemExit: Always.
        """
        hint = self._nearest(message) or f"{self.prog} --help lists its options"
        self.exit(_BAD_ARGUMENTS, f"{self.prog}: {message}\nhint: {hint}\n")

    def _nearest(self, message: str) -> str:
        """A hint that names the option that is spelt most like an unknown one; empty if there is none."""
        import difflib  # only for those who mistype

        unknown = message.removeprefix(_UNKNOWN).partition(" ")[0].partition("=")[0]
        if not message.startswith(_UNKNOWN) or not unknown.startswith("--"):
            return ""
        near = difflib.get_close_matches(unknown, self._option_string_actions, n=1, cutoff=0.75)
        return f"did you mean {near[0]}?" if near else ""
