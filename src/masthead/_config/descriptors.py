"""Fields that take what is comfortable to give, and keep what is right to have.

A dataclass asks a field's descriptor for the default and hands it what was given, and type checkers read both types off
it: ``Config(token="…")`` passes them, and ``config.token`` is a `Secret`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from masthead._meta.secret import Secret, SecretValue, reveal

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

__all__ = [
    "ConvertedField",
    "RedactedField",
    "RedactedTextField",
    "RedactedTextsField",
    "PathField",
    "SecretField",
    "TextsField",
]

_Given = TypeVar("_Given")
_Kept = TypeVar("_Kept")


class ConvertedField(Generic[_Given, _Kept]):
    """A dataclass' field whose values are converted when they are given.

    Args:
        default: What to convert where nothing is given.
    """

    def __init__(self, default: _Given) -> None:
        self._default = self.convert(default)
        self._name = ""

    def convert(self, given: _Given) -> _Kept:
        """Turn what was given into what is kept."""
        raise NotImplementedError

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> _Kept:
        if instance is None:
            return self._default
        kept: _Kept = vars(instance)[self._name]
        return kept

    def __set__(self, instance: object, value: _Given) -> None:
        is_left_out = value is self  # what dataclasses.field(default=...) hands over where nothing is given
        vars(instance)[self._name] = self._default if is_left_out else self.convert(value)


class PathField(ConvertedField["str | PathLike[str] | None", "Path | None"]):
    """Takes a path in any form; None and the empty text are no path."""

    def __init__(self) -> None:
        super().__init__(None)

    def convert(self, given: str | PathLike[str] | None) -> Path | None:
        """Make a Path."""
        return Path(given) if given is not None and given != "" else None


class SecretField(ConvertedField["str | Secret | None", Secret]):
    """Takes a secret, or its text; None is the empty one."""

    def __init__(self) -> None:
        super().__init__(None)

    def convert(self, given: str | Secret | None) -> Secret:
        """Wrap the text."""
        return given if isinstance(given, Secret) else Secret(given or "")


class TextsField(ConvertedField["Iterable[str]", tuple[str, ...]]):
    """Takes texts in any collection; a lone one is not taken apart into letters."""

    def __init__(self) -> None:
        super().__init__(())

    def convert(self, given: Iterable[str]) -> tuple[str, ...]:
        """Make a tuple."""
        return (given,) if isinstance(given, str) else tuple(given)


class RedactedField(ConvertedField[_Given, _Kept]):
    """A field that is read as what it is, and kept out of sight of whatever shows an instance's variables.

    Give it ``repr=False``: a repr reads it.
    """

    def __get__(self, instance: object, owner: type) -> _Kept:
        if instance is None:
            return self._default
        kept: SecretValue[_Kept] = vars(instance)[self._name]
        return kept.reveal()

    def __set__(self, instance: object, value: _Given) -> None:
        super().__set__(instance, value)
        vars(instance)[self._name] = SecretValue(vars(instance)[self._name])


class RedactedTextField(RedactedField["str | Secret", str]):
    """Takes a text that may hold a password, such as a proxy's address."""

    def __init__(self) -> None:
        super().__init__("")

    def convert(self, given: str | Secret) -> str:
        """Take the text as it is."""
        return reveal(given)


class RedactedTextsField(RedactedField["Iterable[str]", tuple[str, ...]]):
    """Takes texts in any collection, one of which may be a password; a lone one is not taken apart into letters."""

    def __init__(self) -> None:
        super().__init__(())

    def convert(self, given: Iterable[str]) -> tuple[str, ...]:
        """Make a tuple."""
        return (given,) if isinstance(given, str) else tuple(given)
