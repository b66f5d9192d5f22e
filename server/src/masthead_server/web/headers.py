"""Header fields: case-insensitive, with several values for a name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Headers"]


class Headers:
    """The headers of a message, in order.

    Args:
        pairs: Names and values, in order.
    """

    __slots__ = ("_values", "pairs")

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self.pairs = list(pairs)
        """Names as the sender wrote them, with their values."""
        self._values: dict[str, list[str]] = {}
        for name, value in self.pairs:
            self._values.setdefault(name.lower(), []).append(value)

    def __repr__(self) -> str:
        # Values may be credentials.
        return f"<Headers {', '.join(self._values)}>"

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._values

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, in lower case."""
        return iter(self._values)

    def get(self, name: str) -> str:
        """Return the first value of a header; empty if it is missing."""
        values = self._values.get(name.lower())
        return values[0] if values else ""

    def get_all(self, name: str) -> list[str]:
        """Return all values of a header."""
        return self._values.get(name.lower(), [])

    def replace(self, name: str, value: str) -> None:
        """Replace all values of a header by one."""
        lower = name.lower()
        self.pairs = [pair for pair in self.pairs if pair[0].lower() != lower] + [(name, value)]
        self._values[lower] = [value]

    def find_repeated(self) -> list[str]:
        """Return the names that occur more than once, in lower case."""
        # Most requests have none, and their names are not looked at.
        if len(self._values) == len(self.pairs):
            return []
        return [name for name, values in self._values.items() if len(values) > 1]

    def to_dict(self) -> dict[str, str]:
        """Return the last value of every header, by name in lower case."""
        return {name: values[-1] for name, values in self._values.items()}
