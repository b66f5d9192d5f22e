"""The licences of dependencies, and which of them are allowed: the permissive ones, by their SPDX identifiers."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any, Final

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

ALLOWED: Final = frozenset(
    {
        "0BSD",
        "Apache-2.0",
        "BSD-2-Clause",
        "BSD-3-Clause",
        "ISC",
        "MIT",
        "MIT-0",
        "PSF-2.0",
        "Python-2.0",
        "Unlicense",
        "Zlib",
    }
)
"""Licences whose only condition is that they are passed on."""

_WORDS: Final = {
    "apache 2": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "3-clause bsd license": "BSD-3-Clause",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "psf": "PSF-2.0",
    "python software foundation license": "PSF-2.0",
    "psfl": "PSF-2.0",
}
"""Older metadata have words instead of identifiers. BSD without a number of clauses is taken for the stricter one."""


@dataclasses.dataclass(frozen=True)
class Distribution:
    """The metadata of a distribution.

    Attributes:
        name: Its normalized name.
        version: Its version.
        summary: Its description in one line.
        licence: An SPDX expression; empty if it names no known licence.
        requires: Its requirements.
    """

    name: str
    version: str
    summary: str
    licence: str
    requires: tuple[str, ...]

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Distribution:
        """Read an entry of `tools.release.inventory`."""
        return cls(
            canonicalize_name(found["name"]),
            found["version"],
            " ".join(found["summary"].split()),
            expression_of(found["license_expression"], found["license"], found["classifiers"]),
            tuple(found["requires"]),
        )


def expression_of(expression: str, text: str, classifiers: Iterable[str]) -> str:
    """The licence as an SPDX expression: what the metadata say, the newest kind of them first; empty if unknown."""
    prefix = "License :: OSI Approved :: "
    named = [classifier.removeprefix(prefix) for classifier in classifiers if classifier.startswith(prefix)]
    for candidate in (expression, text, " AND ".join(sorted(_identifier(name) for name in named))):
        try:
            if candidate.strip():
                return canonicalize_license_expression(_identifier(candidate))
        except InvalidLicenseExpression:
            continue
    return ""


def _identifier(words: str) -> str:
    return _WORDS.get(words.strip().lower(), words.strip())


def is_allowed(expression: str) -> bool:
    """Whether one may choose allowed licences only: all of an AND, one of an OR."""
    found = re.findall(r"\(|\)|[^\s()]+", expression)
    if not found:
        return False
    allowed, rest = _any_of(found)
    return allowed and not rest


def _any_of(tokens: list[str]) -> tuple[bool, list[str]]:
    allowed, rest = _all_of(tokens)
    while rest and rest[0] == "OR":
        other, rest = _all_of(rest[1:])
        allowed = allowed or other
    return allowed, rest


def _all_of(tokens: list[str]) -> tuple[bool, list[str]]:
    allowed, rest = _one_of(tokens)
    while rest and rest[0] == "AND":
        other, rest = _one_of(rest[1:])
        allowed = allowed and other
    return allowed, rest


def _one_of(tokens: list[str]) -> tuple[bool, list[str]]:
    if tokens and tokens[0] == "(":
        allowed, rest = _any_of(tokens[1:])
        return allowed, rest[1:]
    if len(tokens) > 2 and tokens[1] == "WITH":  # an exception only allows more
        return tokens[0] in ALLOWED, tokens[3:]
    return bool(tokens) and tokens[0] in ALLOWED, tokens[1:]


def closure(root: str, extras: Iterable[str], installed: Mapping[str, Distribution]) -> dict[str, Distribution]:
    """What comes with a distribution and some of its extras, itself aside, by name."""
    found: dict[str, Distribution] = {}
    waiting = [(root, frozenset(extras))]
    while waiting:
        name, wanted = waiting.pop()
        for need in needed(installed[name], wanted):
            key = canonicalize_name(need.name)
            if key not in found and key in installed:
                found[key] = installed[key]
                waiting.append((key, frozenset(need.extras)))
    return dict(sorted(found.items()))


def needed(distribution: Distribution, extras: Iterable[str]) -> list[Requirement]:
    """The requirements of a distribution and of some of its extras, on this platform."""
    wanted = ("", *extras)
    needs = map(Requirement, distribution.requires)
    return [
        need for need in needs if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in wanted)
    ]


def table(distributions: Iterable[Distribution]) -> list[str]:
    """A line for each distribution: name, version and licence."""
    rows = [
        (distribution.name, distribution.version, distribution.licence or "unknown") for distribution in distributions
    ]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(2)]
    return [f"  {name:<{widths[0]}}  {version:<{widths[1]}}  {licence}" for name, version, licence in rows]


def refused(distributions: Iterable[Distribution]) -> list[str]:
    """The problems with the licences of distributions."""
    return [
        f"{distribution.name} {distribution.version}: its licence is {distribution.licence or 'unknown'}, which is not "
        "in the list of allowed ones"
        for distribution in distributions
        if not is_allowed(distribution.licence)
    ]
