"""The verbs of a resource, typed by its kind.

Options that several verbs take mean the same everywhere:

==========================  ========================================================================================
``label_selector``          ``"app=web,tier in (a,b)"``, ``{"app": "web"}``, or a selector
``field_selector``          ``"status.phase!=Running"``, ``{"spec.nodeName": "node-1"}``, or a selector
``resource_version``        how fresh the answer must be; None for the newest, ``"0"`` for whatever a cache has
``resource_version_match``  ``NotOlderThan`` or ``Exact``
``dry_run``                 go through everything, and store nothing
``field_manager``           under which name changes are recorded; None for the client's own
``field_validation``        ``Ignore``, ``Warn`` or ``Strict``: what becomes of fields that the server does not know
``timeout``                 seconds for the whole call, repetitions included; None for the client's own
==========================  ========================================================================================

The verbs themselves are in `reading`, `creating`, `deleting` and here; a class of each, so that a resource that has
some of them only can be put together from these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from masthead._client.conflicts import RetryVerbs
from masthead._client.delete_verbs import DeleteVerbs
from masthead._client.patch_verbs import PatchVerbs
from masthead._meta.object import Object

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._client.options import FieldValidation

__all__ = ["ResourceClient"]

T = TypeVar("T", bound=Object)


class ResourceClient(RetryVerbs[T], PatchVerbs[T], DeleteVerbs[T], Generic[T]):
    """The objects of one kind, in one namespace or in all.

    Annotates whatever works with any of them: ``client.core_v1.pods("x")`` and ``client.resource(Pod, "x")`` are both a
    ``ResourceClient[Pod]``, and ``client.dynamic("pods")`` is a ``ResourceClient[Unstructured]``.
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
        """Apply an object on the server's side: say which fields it shall have, and own them.

        Only what is set is sent, so a partial object is all that is needed.

        Args:
            obj: The name, and the fields to own.
            field_manager: Who owns them; needed, here or as the client's own.
            force: Take fields over that others own.
            dry_run: Go through everything, and store nothing.
            field_validation: What becomes of fields that the server does not know.
            timeout: Seconds for the whole call; None for the client's own.

        Raises:
            ConflictError: if others own a field; ``details.causes`` says which, and `force` takes them over.
        """
        return await self._apply(
            obj,
            field_manager=field_manager,
            force=force,
            dry_run=dry_run,
            field_validation=field_validation,
            timeout=timeout,
        )
