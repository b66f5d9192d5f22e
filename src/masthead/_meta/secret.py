"""Values that must not be shown by accident."""

from __future__ import annotations

from typing import Final, Generic, Self, TypeVar, cast

__all__ = ["SecretValue", "Secret", "reveal"]

_HIDDEN: Final = "**********"

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class SecretValue(Generic[T_co]):
    """A value of any type that is or holds a secret: in a repr, a log line or a traceback's variables it is stars.

    Tools that capture variables show whatever has a name in a frame. So a secret stays in here until the expression
    that uses it up: it is never given a name of its own.
    """

    __slots__ = ("_value",)

    def __init__(self, value: T_co) -> None:
        self._value = value

    def reveal(self) -> T_co:
        """The value itself, for the one place that uses it."""
        return self._value

    def __str__(self) -> str:
        return _HIDDEN

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        """Refuse to be pickled: where it would be written to, nobody can say."""
        raise TypeError(
            f"a {type(self).__name__} is not pickled; send the kubeconfig's path, and load it on the other side"
        )


class Secret(SecretValue[str]):
    """A token, password or key: in a repr, a log line or a traceback's variables it is a row of stars.

    An empty secret is false. Two secrets are equal if their texts are.
    """

    __slots__ = ()

    def __init__(self, text: str = "") -> None:
        super().__init__(text)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __str__(self) -> str:
        return _HIDDEN if self._value else ""


def reveal(value: T | SecretValue[T]) -> T:
    """What is in there, if it is hidden; do not give it a name."""
    if isinstance(value, SecretValue):
        return cast("SecretValue[T]", value).reveal()
    return value
