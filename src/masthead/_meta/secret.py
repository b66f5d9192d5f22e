"""Values that reprs, logs and tracebacks do not show."""

from __future__ import annotations

from typing import Final, Generic, Self, TypeVar, cast

from masthead._module import set_module

__all__ = ["Secret", "SecretValue", "reveal"]

_HIDDEN: Final = "**********"

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@set_module("masthead.auth")
class SecretValue(Generic[T_co]):
    """A value that is or contains a secret: reprs, logs and captured variables show asterisks.

    Tools that capture the variables of frames show whatever is bound to a name. So a secret stays wrapped until the
    expression that uses it; do not bind the revealed value to a variable.
    """

    __slots__ = ("_value",)

    def __init__(self, value: T_co) -> None:
        self._value = value

    def reveal(self) -> T_co:
        """Return the value itself."""
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
        """Refuse pickling: the destination is unknown."""
        raise TypeError(
            f"a {type(self).__name__} cannot be pickled; send the kubeconfig's path, and load it in the other process"
        )


@set_module("masthead.auth")
class Secret(SecretValue[str]):
    """A token, password or key: reprs, logs and captured variables show asterisks.

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
    """Return the value inside of a `SecretValue`, or the value itself; do not bind it to a variable."""
    if isinstance(value, SecretValue):
        return cast("SecretValue[T]", value).reveal()
    return value
