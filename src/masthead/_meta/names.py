"""The API server's rules for names, label keys and label values.

Each rule has two functions: ``problem_with_...`` returns the problem or None, so that a caller can collect problems;
``check_...`` raises.

========================  =======================================================================
Rule                      Where the server applies it
========================  =======================================================================
``dns1123_label``         Namespaces, containers, volumes; Services from 1.36 on
``dns1123_subdomain``     most other objects: Pods, Deployments, ConfigMaps, custom resources ...
``dns1035_label``         the names in a CustomResourceDefinition; Services before 1.36
``qualified_name``        label keys, annotation keys (lower-cased first), finalizers
``label_value``           label values
``path_segment_name``     objects with almost arbitrary names, such as RBAC roles
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
"""The longest part of a value that a message repeats; all valid names but long subdomains fit."""


class _NameFormat(NamedTuple):
    """A pattern, the maximum length, and the pattern in words."""

    pattern: re.Pattern[str]
    max_length: int
    rule: str

    def problem_with(self, value: str) -> str | None:
        # The length comes first, so that the pattern sees a few hundred characters at most.
        # The server counts bytes; for values that match its patterns, that is the same number.
        if len(value) > self.max_length:
            return f"must have at most {self.max_length} characters, and has {len(value)}"
        if self.pattern.fullmatch(value) is not None:
            return None
        return self.rule if value else "must not be empty"


# The limits and patterns are those of apimachinery's pkg/api/validate/content and pkg/util/validation.
_DNS1123_LABEL_PATTERN = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_NAME_PATTERN = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?"

_DNS1123_LABEL = _NameFormat(
    re.compile(_DNS1123_LABEL_PATTERN),
    max_length=63,
    rule="may hold only a-z, 0-9 and '-', and must begin and end with a letter or digit",
)
_DNS1123_SUBDOMAIN = _NameFormat(
    re.compile(rf"{_DNS1123_LABEL_PATTERN}(?:\.{_DNS1123_LABEL_PATTERN})*"),
    max_length=253,
    rule="may hold only a-z, 0-9, '-' and '.', and every part between dots must begin and end with a letter or digit",
)
_DNS1035_LABEL = _NameFormat(
    re.compile(r"[a-z](?:[-a-z0-9]*[a-z0-9])?"),
    max_length=63,
    rule="may hold only a-z, 0-9 and '-', must begin with a letter and end with a letter or digit",
)
_QUALIFIED_NAME = _NameFormat(
    re.compile(_NAME_PATTERN),
    max_length=63,
    rule="may hold only A-Z, a-z, 0-9, '-', '_' and '.', and must begin and end with a letter or digit",
)
_LABEL_VALUE = _NameFormat(
    re.compile(rf"(?:{_NAME_PATTERN})?"),
    max_length=63,
    rule=f"{_QUALIFIED_NAME.rule}, or be empty",
)


def problem_with_dns1123_label(value: str) -> str | None:
    """Return why the value is not a DNS label such as ``web-1``; None if it is one."""
    return _DNS1123_LABEL.problem_with(value)


def problem_with_dns1123_subdomain(value: str) -> str | None:
    """Return why the value is not a DNS subdomain such as ``web.example.com``; None if it is one."""
    return _DNS1123_SUBDOMAIN.problem_with(value)


def problem_with_dns1035_label(value: str) -> str | None:
    """Return why the value is not a DNS label that begins with a letter; None if it is one."""
    return _DNS1035_LABEL.problem_with(value)


def problem_with_qualified_name(value: str) -> str | None:
    """Return why the value is not a qualified name such as ``app`` or ``example.com/app``; None if it is one.

    For annotation keys the server ignores the case of the prefix: pass ``key.lower()``.
    """
    prefix, slash, name = value.rpartition("/")
    if slash and (problem := problem_with_dns1123_subdomain(prefix)):
        return f"the prefix before '/' {problem}"
    if problem := _QUALIFIED_NAME.problem_with(name):
        return f"the name after '/' {problem}" if slash else problem
    return None


def problem_with_label_value(value: str) -> str | None:
    """Return why the value is not a label value; None if it is one. The empty string is valid."""
    return _LABEL_VALUE.problem_with(value)


def problem_with_path_segment_name(value: str) -> str | None:
    """Return why the value is not valid as one segment of a URL path; None if it is.

    As on the server, the empty name is valid here and rejected elsewhere.
    """
    if value in {".", ".."}:
        return f"must not be {value!r}"
    for character in "/%":
        if character in value:
            return f"must not hold {character!r}"
    return None


def check_dns1123_label(value: str) -> None:
    """Check that a value is a DNS label such as ``web-1``.

    Raises:
        NameFormatError: If it is invalid.
    """
    _check(value, problem_with_dns1123_label, noun="a DNS label (RFC 1123)", example="web-1")


def check_dns1123_subdomain(value: str) -> None:
    """Check that a value is a DNS subdomain such as ``web.example.com``.

    Raises:
        NameFormatError: If it is invalid.
    """
    _check(value, problem_with_dns1123_subdomain, noun="a DNS subdomain (RFC 1123)", example="web.example.com")


def check_dns1035_label(value: str) -> None:
    """Check that a value is a DNS label that begins with a letter.

    Raises:
        NameFormatError: If it is invalid.
    """
    _check(value, problem_with_dns1035_label, noun="a DNS label (RFC 1035)", example="web-1")


def check_qualified_name(value: str) -> None:
    """Check that a value is a qualified name such as ``app`` or ``example.com/app``.

    For annotation keys the server ignores the case of the prefix: pass ``key.lower()``.

    Raises:
        NameFormatError: If it is invalid.
    """
    _check(value, problem_with_qualified_name, noun="a qualified name", example="example.com/app")


def check_label_value(value: str) -> None:
    """Check that a value is a label value.

    Raises:
        NameFormatError: If it is invalid.
    """
    _check(value, problem_with_label_value, noun="a label value", example="web_v1.2")


def check_path_segment_name(value: str) -> None:
    """Check that a value is valid as one segment of a URL path.

    Raises:
        NameFormatError: If it is invalid.
    """
    _check(value, problem_with_path_segment_name, noun="a path segment", example="system:node")


def quote(value: str) -> str:
    """Quote a value for a message, truncated if it is very long."""
    if len(value) <= _SHOWN_LENGTH:
        return repr(value)
    return f"{value[:_SHOWN_LENGTH]!r}... ({len(value)} characters)"


def _check(value: str, problem_with: Callable[[str], str | None], *, noun: str, example: str) -> None:
    if problem := problem_with(value):
        message = f"{quote(value)} is not {noun}: {problem}. A right one is {example!r}."
        raise NameFormatError(message, value=value)
