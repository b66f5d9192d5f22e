"""All verbs of a resource, typed by its kind.

Options that several verbs share mean the same everywhere:

==========================  ========================================================================================
``label_selector``          ``"app=web,tier in (a,b)"``, ``{"app": "web"}``, or a selector
``field_selector``          ``"status.phase!=Running"``, ``{"spec.nodeName": "node-1"}``, or a selector
``resource_version``        how fresh the response must be; None for the newest, ``"0"`` for any cached version
``resource_version_match``  ``NotOlderThan`` or ``Exact``
``dry_run``                 run validation and admission without storing anything
``field_manager``           the field manager to record; None for the client's default
``field_validation``        ``Ignore``, ``Warn`` or ``Strict``: how the server treats unknown fields
``timeout``                 timeout of the whole call in seconds, retries included; None for the client's default
==========================  ========================================================================================

The verbs themselves are in `read_verbs`, `create_verbs`, `patch_verbs`, `delete_verbs`, `conflicts` and here,
one class
each: a resource that supports some verbs only is composed of those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from masthead._client.conflicts import RetryVerbs
from masthead._client.delete_verbs import DeleteVerbs
from masthead._client.patch_verbs import PatchVerbs
from masthead._meta.object import Object
from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._client.options import FieldValidation

__all__ = ["ResourceClient"]

T = TypeVar("T", bound=Object)


@set_module("masthead.aio")
class ResourceClient(RetryVerbs[T], PatchVerbs[T], DeleteVerbs[T], Generic[T]):
    """The objects of one kind, in one namespace or in all.

    Use it in annotations of code that works with any resource: ``client.core_v1.pods("x")`` and
    ``client.resource(Pod, "x")`` are both a ``ResourceClient[Pod]``, and ``client.dynamic("pods")`` is a
    ``ResourceClient[Unstructured]``.
    """

    async def apply(
        self,
        obj: T | Mapping[str, object],
        *,
        field_manager: str | None = None,
        force: bool = False,
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> T:
        """Apply an object with server-side apply, and own the fields that it sets.

        Only fields that are set are sent, so a partial object is enough.

        Args:
            obj: The name, and the fields to own.
            field_manager: The field manager; required here or as the client's default.
            force: Take over fields that other managers own.
            dry_run: Run validation and admission without storing anything.
            field_validation: How the server treats unknown fields.
            timeout: Timeout of the whole call, in seconds; None for the client's default.

        Raises:
            ConflictError: If another manager owns a field; ``details.causes`` lists them, and `force` takes
                them over.
        """
        return await self._apply(
            obj,
            field_manager=field_manager,
            force=force,
            dry_run=dry_run,
            field_validation=field_validation,
            timeout=timeout,
        )
