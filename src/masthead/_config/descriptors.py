"""Dataclass fields that convert their values, such as ``str`` to ``Path`` or `Secret`.

A dataclass reads a field's default from its descriptor and assigns the argument through it. Type checkers take both
types from the descriptor: ``Config(token="…")`` passes, and ``config.token`` is a `Secret`.
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
    "PathField",
    "RedactedField",
    "RedactedTextField",
    "RedactedTextsField",
    "SecretField",
    "TextsField",
]

_Given = TypeVar("_Given")
_Kept = TypeVar("_Kept")


class ConvertedField(Generic[_Given, _Kept]):
    """A dataclass field that converts assigned values.

    Args:
        default: The default, before conversion.
    """

    def __init__(self, default: _Given) -> None:
        self._default = self.convert(default)
        self._name = ""

    def convert(self, given: _Given) -> _Kept:
        """Convert an assigned value."""
        raise NotImplementedError

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> _Kept:
        if instance is None:
            return self._default
        kept: _Kept = vars(instance)[self._name]
        return kept

    def __set__(self, instance: object, value: _Given) -> None:
        is_left_out = value is self  # dataclasses.field(default=...) assigns the descriptor itself
        vars(instance)[self._name] = self._default if is_left_out else self.convert(value)


class PathField(ConvertedField["str | PathLike[str] | None", "Path | None"]):
    """A path; None and the empty string mean no path."""

    def __init__(self) -> None:
        super().__init__(None)

    def convert(self, given: str | PathLike[str] | None) -> Path | None:
        """Convert to a Path."""
        return Path(given) if given is not None and given != "" else None


class SecretField(ConvertedField["str | Secret | None", Secret]):
    """A secret, given as `Secret` or text; None is the empty secret."""

    def __init__(self) -> None:
        super().__init__(None)

    def convert(self, given: str | Secret | None) -> Secret:
        """Wrap text in a Secret."""
        return given if isinstance(given, Secret) else Secret(given or "")


class TextsField(ConvertedField["Iterable[str]", tuple[str, ...]]):
    """A tuple of strings, from any iterable; a single string becomes one element."""

    def __init__(self) -> None:
        super().__init__(())

    def convert(self, given: Iterable[str]) -> tuple[str, ...]:
        """Convert to a tuple."""
        return (given,) if isinstance(given, str) else tuple(given)


class RedactedField(ConvertedField[_Given, _Kept]):
    """A field that is stored as a `SecretValue`, so that tools that dump instance variables do not show it.

    Use it with ``repr=False``: a repr reads the value.
    """

    def __get__(self, instance: object, owner: type) -> _Kept:
        if instance is None:
            return self._default
        kept: SecretValue[_Kept] = vars(instance)[self._name]
        return kept.reveal()

    def __set__(self, instance: object, value: _Given) -> None:
        super().__set__(instance, value)
        # Stored wrapped, because debuggers and loggers read the instance dictionary directly.
        vars(instance)[self._name] = SecretValue(vars(instance)[self._name])


class RedactedTextField(RedactedField["str | Secret", str]):
    """A string that may contain a password, such as a proxy URL."""

    def __init__(self) -> None:
        super().__init__("")

    def convert(self, given: str | Secret) -> str:
        """Return the text itself."""
        return reveal(given)


class RedactedTextsField(RedactedField["Iterable[str]", tuple[str, ...]]):
    """A tuple of strings that may contain a password, from any iterable; a single string becomes one element."""

    def __init__(self) -> None:
        super().__init__(())

    def convert(self, given: Iterable[str]) -> tuple[str, ...]:
        """Convert to a tuple."""
        return (given,) if isinstance(given, str) else tuple(given)
