"""Text that must not be shown by accident."""

from __future__ import annotations

from typing import Final, Self

__all__ = ["Secret"]

_HIDDEN: Final = "**********"


class Secret:
    """A token, password or key: in a repr, a log line or a traceback's variables it is a row of stars.

    An empty secret is false. Two secrets are equal if their texts are.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str = "") -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself, for the one place that sends it."""
        return self._text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __str__(self) -> str:
        return _HIDDEN if self._text else ""

    def __repr__(self) -> str:
        return f"Secret({str(self)!r})"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """Refuse to be pickled: where it would be written to, nobody can say."""
        raise TypeError("a Secret is not pickled; send the kubeconfig's path, and load it on the other side")
