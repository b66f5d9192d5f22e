"""Errors of strategic merge patches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.go_format import go_type, go_value

if TYPE_CHECKING:
    from masthead._meta.plain import Plain

__all__ = [
    "BAD_DELETION_LIST",
    "BAD_ORDER_LIST",
    "BAD_RETAIN_KEYS",
    "MergeConflictError",
    "StrategicMergeError",
    "missing_key",
    "not_comparable",
    "wrong_type",
]

BAD_DELETION_LIST: Final = "invalid patch format of primitive list"
BAD_ORDER_LIST: Final = "invalid patch format of setElementOrder list"
BAD_RETAIN_KEYS: Final = "invalid patch format of retainKeys"


class StrategicMergeError(Exception):
    """A strategic merge patch cannot be applied or computed.

    Args:
        message: The message, in kube-apiserver's words.
        code: The status code that kube-apiserver answers with. Most mistakes count as its own, not the client's.
    """

    def __init__(self, message: str, code: int = 500) -> None:
        super().__init__(message)
        self.code = code


class MergeConflictError(StrategicMergeError):
    """A three-way patch would overwrite a concurrent change.

    Args:
        patch: The patch.
        changed: The difference between the original configuration and the current object.
    """

    def __init__(self, patch: Plain, changed: Plain) -> None:
        super().__init__(
            f"patch:\n{_yaml(patch)}\nconflicts with changes made from original to current:\n{_yaml(changed)}\n",
            409,
        )
        self.patch = patch
        self.changed = changed


def _yaml(value: Plain) -> str:
    from masthead._meta import yaml

    return yaml.dump(value)


def missing_key(item: Plain, key: str) -> StrategicMergeError:
    """An item has no merge key."""
    return StrategicMergeError(f"map: {go_value(item)} does not contain declared merge key: {key}")


def wrong_type(wanted: type, value: object) -> StrategicMergeError:
    """A value is no object, or no list, where one is needed."""
    return StrategicMergeError(f"expected a {go_type(wanted())}, but received a {go_type(value)}")


def not_comparable(value: object) -> StrategicMergeError:
    """Create the error for an object or list where only scalars can be compared."""
    # differs from kube-apiserver, which panics and closes the connection.
    return StrategicMergeError(f"runtime error: hash of unhashable type {go_type(value)}")
