"""The managers of a TokenRequest, which is not stored, but returned with them."""

from __future__ import annotations

import functools
from typing import Final

from masthead._meta.gvk import GroupVersionKind
from masthead_server.field_managers.field_manager import FieldManager
from masthead_server.field_managers.versions import UnstoredVersions

__all__ = ["token_request_manager"]

_KIND: Final = GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest")


@functools.cache
def token_request_manager() -> FieldManager:
    """Return the field manager of token requests."""
    return FieldManager(UnstoredVersions(_KIND), "token", {})
