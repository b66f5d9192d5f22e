"""The arguments of programs, such as ``masthead serve``: what is wrong with them is said in one line, with a hint."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing import NoReturn

__all__ = ["ArgumentParser"]

_BAD_ARGUMENTS: Final = 2


class ArgumentParser(argparse.ArgumentParser):
    """A parser whose errors look like those of all commands, instead of beginning with the whole usage."""

    def error(self, message: str) -> NoReturn:
        """End the process with code 2.

        Args:
            message: What is wrong.

        Raises:
            SystemExit: Always.
        """
        self.exit(_BAD_ARGUMENTS, f"{self.prog}: {message}\nhint: {self.prog} --help shows what there is\n")
