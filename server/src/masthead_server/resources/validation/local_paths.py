"""Validation of paths within volumes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._schema.errors import invalid

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors

__all__ = ["backstep_errors", "descending_errors", "reserved_errors"]


def backstep_errors(path: str, value: str) -> Errors:
    """Validate that a path does not leave where it starts."""
    return [invalid(path, value, "must not contain '..'")] if ".." in value.split("/") else []


def descending_errors(path: str, value: str) -> Errors:
    """Validate a relative path that does not leave where it starts."""
    errors = [invalid(path, value, "must be a relative path")] if value.startswith("/") else []
    return errors + backstep_errors(path, value)


def reserved_errors(path: str, value: str) -> Errors:
    """Validate the path of a file that the kubelet writes."""
    errors = descending_errors(path, value)
    # The kubelet keeps its own directories under such names, to swap versions of a volume atomically.
    if value.startswith("..") and not value.startswith("../"):
        errors.append(invalid(path, value, "must not start with '..'"))
    return errors
