"""The policy of a namespace: a level and a version for each mode, from its labels."""

from __future__ import annotations

import re
from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._schema.errors import FieldError, invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["LABEL_PREFIX", "UNRESTRICTED", "Level", "LevelVersion", "Policy", "parse_policy"]

LABEL_PREFIX: Final = "pod-security.kubernetes.io/"
"""Prefix of the labels of a namespace, and of the audit annotations."""
_VERSION: Final = re.compile(r"v1\.([0-9]|[1-9][0-9]*)")
_MAX_INT: Final = 2**63 - 1


class Level(IntEnum):
    """The level of a policy; a stricter one is greater."""

    PRIVILEGED = 0
    BASELINE = 1
    RESTRICTED = 2


_LEVELS: Final[Mapping[str, Level]] = {level.name.lower(): level for level in Level}


class LevelVersion(NamedTuple):
    """A level, as a minor version of Kubernetes defines it; None is the latest version."""

    level: Level = Level.PRIVILEGED
    minor: int | None = None

    def __str__(self) -> str:
        """Return the text of messages."""
        return f"{self.level.name.lower()}:{'latest' if self.minor is None else f'v1.{self.minor}'}"


class Policy(NamedTuple):
    """What a namespace enforces, records in the audit log and warns about."""

    enforce: LevelVersion = LevelVersion()
    audit: LevelVersion = LevelVersion()
    warn: LevelVersion = LevelVersion()

    @property
    def is_privileged(self) -> bool:
        """Whether no mode restricts anything."""
        return not any(mode.level for mode in self)


UNRESTRICTED: Final = Policy()
"""The policy of a namespace without labels."""


def parse_policy(labels: Mapping[str, str]) -> tuple[Policy, list[FieldError]]:
    """Return the policy of a namespace and the errors of its labels.

    With an invalid level `enforce` is restricted, but `audit` and `warn` are privileged.
    """
    errors: list[FieldError] = []
    enforce, is_set = _parse_mode(labels, "enforce", Level.RESTRICTED, errors)
    audit, _ = _parse_mode(labels, "audit", Level.PRIVILEGED, errors)
    warn, _ = _parse_mode(labels, "warn", Level.PRIVILEGED, errors)
    # Users see a warning about a workload whose pods would be refused.
    if is_set and f"{LABEL_PREFIX}warn" not in labels:
        has_version = f"{LABEL_PREFIX}warn-version" in labels
        warn = LevelVersion(enforce.level, warn.minor if has_version or not enforce.level else enforce.minor)
    return Policy(enforce, audit, warn), errors


def _parse_mode(
    labels: Mapping[str, str], mode: str, fallback: Level, errors: list[FieldError]
) -> tuple[LevelVersion, bool]:
    """Return a mode, and whether its label has a valid level."""
    level, minor, is_set = Level.PRIVILEGED, None, False
    key = f"{LABEL_PREFIX}{mode}"
    if (value := labels.get(key)) is not None:
        is_set = value in _LEVELS
        level = _LEVELS.get(value, fallback)
        if not is_set:
            errors.append(invalid(f"metadata.labels[{key}]", value, f"must be one of {', '.join(_LEVELS)}"))
    key = f"{key}-version"
    if (value := labels.get(key)) is not None and value != "latest":
        found = _VERSION.fullmatch(value)
        if found and int(found[1]) <= _MAX_INT:
            minor = int(found[1])
        else:
            errors.append(invalid(f"metadata.labels[{key}]", value, 'must be "latest" or "v1.x"'))
    return LevelVersion(level, minor), is_set
