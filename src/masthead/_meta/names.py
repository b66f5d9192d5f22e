"""The API server's rules for names, label keys and label values.

Each rule comes twice. ``problem_with_...`` says what is wrong, or None, so that a caller can collect
problems; ``check_...`` raises on the first one.

========================  =======================================================================
Rule                      Where the server applies it
========================  =======================================================================
``dns1123_label``         Namespaces, containers, volumes; Services from 1.36 on
``dns1123_subdomain``     most other objects: Pods, Deployments, ConfigMaps, custom resources ...
``dns1035_label``         the names in a CustomResourceDefinition; Services before 1.36
``qualified_name``        label keys, annotation keys (lower-cased first), finalizers
``label_value``           label values
``path_segment_name``     objects whose names may be almost anything, such as RBAC roles
========================  =======================================================================
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from masthead.errors import NameFormatError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "check_dns1035_label",
    "check_dns1123_label",
    "check_dns1123_subdomain",
    "check_label_value",
    "check_path_segment_name",
    "check_qualified_name",
    "problem_with_dns1035_label",
    "problem_with_dns1123_label",
    "problem_with_dns1123_subdomain",
    "problem_with_label_value",
    "problem_with_path_segment_name",
    "problem_with_qualified_name",
    "quote",
]

_SHOWN_LENGTH = 80
"""How much of a value a message repeats; every valid name but a long subdomain fits."""


class _Format(NamedTuple):
    """A pattern, how long a value may be, and the pattern in words."""

    pattern: re.Pattern[str]
    max_length: int
    rule: str

    def problem_with(self, value: str) -> str | None:
        # The length comes first: however bad the value, the pattern then sees a few hundred characters.
        # The server counts bytes; that is the same number for every value that its patterns let through.
        if len(value) > self.max_length:
            return f"must have at most {self.max_length} characters, and has {len(value)}"
        if self.pattern.fullmatch(value) is not None:
            return None
        return self.rule if value else "must not be empty"


# The limits and patterns are those of apimachinery's pkg/api/validate/content and pkg/util/validation.
_DNS1123_LABEL_PATTERN = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_NAME_PATTERN = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?"

_DNS1123_LABEL = _Format(
    re.compile(_DNS1123_LABEL_PATTERN),
    max_length=63,
    rule="may hold only a-z, 0-9 and '-', and must begin and end with a letter or digit",
)
_DNS1123_SUBDOMAIN = _Format(
    re.compile(rf"{_DNS1123_LABEL_PATTERN}(?:\.{_DNS1123_LABEL_PATTERN})*"),
    max_length=253,
    rule="may hold only a-z, 0-9, '-' and '.', and every part between dots must begin and end with a letter or digit",
)
_DNS1035_LABEL = _Format(
    re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?"),
    max_length=63,
    rule="may hold only a-z, 0-9 and '-', must begin with a letter and end with a letter or digit",
)
_QUALIFIED_NAME = _Format(
    re.compile(_NAME_PATTERN),
    max_length=63,
    rule="may hold only A-Z, a-z, 0-9, '-', '_' and '.', and must begin and end with a letter or digit",
)
_LABEL_VALUE = _Format(
    re.compile(rf"(?:{_NAME_PATTERN})?"),
    max_length=63,
    rule=f"{_QUALIFIED_NAME.rule}, or be empty",
)


def problem_with_dns1123_label(value: str) -> str | None:
    """Say what keeps the value from being a DNS label such as ``web-1``, or None when it is one."""
    return _DNS1123_LABEL.problem_with(value)


def problem_with_dns1123_subdomain(value: str) -> str | None:
    """Say what keeps the value from being a DNS subdomain such as ``web.example.com``, or None."""
    return _DNS1123_SUBDOMAIN.problem_with(value)


def problem_with_dns1035_label(value: str) -> str | None:
    """Say what keeps the value from being a DNS label that begins with a letter, or None."""
    return _DNS1035_LABEL.problem_with(value)


def problem_with_qualified_name(value: str) -> str | None:
    """Say what keeps the value from being a key such as ``app`` or ``example.com/app``, or None.

    For annotation keys the server ignores the case of the prefix: pass ``key.lower()``.
    """
    prefix, slash, name = value.rpartition("/")
    if slash and (problem := problem_with_dns1123_subdomain(prefix)):
        return f"the prefix before '/' {problem}"
    if problem := _QUALIFIED_NAME.problem_with(name):
        return f"the name after '/' {problem}" if slash else problem
    return None


def problem_with_label_value(value: str) -> str | None:
    """Say what keeps the value from being a label's value, or None; an empty one is fine."""
    return _LABEL_VALUE.problem_with(value)


def problem_with_path_segment_name(value: str) -> str | None:
    """Say what keeps the value from standing as one segment of a URL's path, or None.

    The server itself lets an empty name through here and refuses it elsewhere; so does this.
    """
    if value in {".", ".."}:
        return f"must not be {value!r}"
    for character in "/%":
        if character in value:
            return f"must not hold {character!r}"
    return None


def check_dns1123_label(value: str) -> None:
    """Refuse a value that is not a DNS label such as ``web-1``.

    Raises:
        NameFormatError: It is not.
    """
    _check(value, problem_with_dns1123_label, noun="a DNS label (RFC 1123)", example="web-1")


def check_dns1123_subdomain(value: str) -> None:
    """Refuse a value that is not a DNS subdomain such as ``web.example.com``.

    Raises:
        NameFormatError: It is not.
    """
    _check(
        value, problem_with_dns1123_subdomain, noun="a DNS subdomain (RFC 1123)", example="web.example.com"
    )


def check_dns1035_label(value: str) -> None:
    """Refuse a value that is not a DNS label that begins with a letter.

    Raises:
        NameFormatError: It is not.
    """
    _check(value, problem_with_dns1035_label, noun="a DNS label (RFC 1035)", example="web-1")


def check_qualified_name(value: str) -> None:
    """Refuse a value that is not a label key such as ``app`` or ``example.com/app``.

    For annotation keys the server ignores the case of the prefix: pass ``key.lower()``.

    Raises:
        NameFormatError: It is not.
    """
    _check(value, problem_with_qualified_name, noun="a qualified name", example="example.com/app")


def check_label_value(value: str) -> None:
    """Refuse a value that a label cannot have.

    Raises:
        NameFormatError: It cannot.
    """
    _check(value, problem_with_label_value, noun="a label value", example="web_v1.2")


def check_path_segment_name(value: str) -> None:
    """Refuse a value that cannot stand as one segment of a URL's path.

    Raises:
        NameFormatError: It cannot.
    """
    _check(value, problem_with_path_segment_name, noun="a path segment", example="system:node")


def quote(value: str) -> str:
    """Quote a value for a message, shortened when it is very long."""
    if len(value) <= _SHOWN_LENGTH:
        return repr(value)
    return f"{value[:_SHOWN_LENGTH]!r}... ({len(value)} characters)"


def _check(value: str, problem_with: Callable[[str], str | None], *, noun: str, example: str) -> None:
    if problem := problem_with(value):
        message = f"{quote(value)} is not {noun}: {problem}. A right one is {example!r}."
        raise NameFormatError(message, value=value)
