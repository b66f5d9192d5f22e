"""Names that differ between runs: made by the server (``generateName``), at random, or from the time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from masthead.testing._explore.trace import RunResult

__all__ = ["NamePattern", "Names", "generated_patterns", "learn_patterns"]

_SEPARATORS: Final = re.compile(r"([-.])")
_SUFFIX: Final = "[a-z0-9]{5}"
"""The random suffix of a generated name."""


class NamePattern(NamedTuple):
    """Keys of a resource that differ between runs.

    Attributes:
        resource: The resource, such as ``jobs.batch``.
        expression: The regular expression of the keys.
        key: The common key, such as ``default/backup-*``.
    """

    resource: str
    expression: str
    key: str


class Names:
    """Maps keys to keys that are the same in all runs.

    Args:
        patterns: The patterns of keys that differ.
    """

    def __init__(self, patterns: Iterable[NamePattern] = ()) -> None:
        self.patterns: frozenset[NamePattern] = frozenset(patterns)
        self._compiled: dict[str, list[tuple[re.Pattern[str], str]]] = {}
        # A fixed order, because the first match decides for keys with two patterns.
        for pattern in sorted(self.patterns):
            self._compiled.setdefault(pattern.resource, []).append((re.compile(pattern.expression), pattern.key))
        self._known: dict[tuple[str, str], str] = {}

    def __or__(self, patterns: Iterable[NamePattern]) -> Names:
        added = frozenset(patterns) - self.patterns
        # The same instance retains its cache.
        return Names(self.patterns | added) if added else self

    def key_of(self, resource: str, key: str) -> str:
        """Return the key that an object has in all runs."""
        patterns = self._compiled.get(resource)
        if not patterns:
            return key
        # Oracles ask for the same keys in every comparison.
        if (resource, key) not in self._known:
            matches = (common for expression, common in patterns if expression.fullmatch(key))
            self._known[resource, key] = next(matches, key)
        return self._known[resource, key]

    def is_pattern(self, resource: str, key: str) -> bool:
        """Whether a key is common to objects with different names."""
        return any(key == common for _, common in self._compiled.get(resource, ()))


def generated_patterns(result: RunResult) -> frozenset[NamePattern]:
    """Return the patterns of names that the server has completed in a run."""
    # Writes know objects that no longer exist; the store knows the objects of other clients.
    prefixes = {
        (write.resource, write.key.removesuffix("*"))
        for write in result.writes
        if write.verb == "create" and write.key.endswith("*")
    }
    for resource, objects in result.objects.items():
        for key, plain in objects.items():
            metadata = plain.get("metadata", {})
            prefix = metadata.get("generateName")
            # The server ignores the prefix of an object with a name.
            if prefix and str(metadata.get("name", "")).startswith(prefix):
                namespace, slash, _ = key.rpartition("/")
                prefixes.add((resource, f"{namespace}{slash}{prefix}"))
    return frozenset(NamePattern(resource, re.escape(prefix) + _SUFFIX, f"{prefix}*") for resource, prefix in prefixes)


def learn_patterns(
    first: Mapping[str, Iterable[str]], second: Mapping[str, Iterable[str]], names: Names
) -> frozenset[NamePattern]:
    """Compare the objects of two runs without faults, and return the patterns of keys that differ.

    Args:
        first: The keys of the first run, by resource, in the order of creation.
        second: Those of the second run.
        names: The patterns that are known already.
    """
    learned: set[NamePattern] = set()
    for resource in first.keys() & second.keys():
        common = {names.key_of(resource, key) for key in first[resource]}
        common &= {names.key_of(resource, key) for key in second[resource]}
        # Keys of both runs are stable, so only the others can be random.
        left = [key for key in first[resource] if names.key_of(resource, key) not in common]
        right = [key for key in second[resource] if names.key_of(resource, key) not in common]
        learned |= {pattern for pattern in _pair(resource, left, right) if pattern is not None}
    return frozenset(learned)


def _pair(resource: str, left: Sequence[str], right: Sequence[str]) -> Iterable[NamePattern | None]:
    """Pair keys of the same shape, and generalise each pair."""
    remaining = list(right)
    for key in left:
        candidates = [other for other in remaining if _shape(other) == _shape(key)]
        # The candidate with the most parts in common was made by the same code.
        best = max(candidates, key=lambda other: _count_common(key, other), default=None)
        if best is not None:
            remaining.remove(best)
            yield _generalise(resource, key, best)


def _shape(key: str) -> tuple[str, int]:
    namespace, _, name = key.rpartition("/")
    # Random parts rarely contain a separator, so the same code makes the same number of parts.
    return namespace, len(_SEPARATORS.split(name))


def _count_common(key: str, other: str) -> int:
    return sum(part == match for part, match in zip(_split(key), _split(other), strict=True))


def _split(key: str) -> list[str]:
    return _SEPARATORS.split(key.rpartition("/")[2])


def _generalise(resource: str, key: str, other: str) -> NamePattern:
    namespace, slash, _ = key.rpartition("/")
    expression, common = re.escape(namespace + slash), namespace + slash
    for part, match in zip(_split(key), _split(other), strict=True):
        if part == match:
            expression += re.escape(part)
            common += part
        else:
            # A fixed length if possible, because a wider pattern could merge unrelated names.
            expression += "[a-z0-9]" + (f"{{{len(part)}}}" if len(part) == len(match) else "+")
            common += "*"
    return NamePattern(resource, expression, common)
