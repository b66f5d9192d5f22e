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

from typing import TYPE_CHECKING, Generic, TypeVar, Unpack

import msgspec

from masthead._client.base import name_of
from masthead._client.conflicts import RetryVerbs, retry_on, retry_on_conflict
from masthead._client.delete_verbs import DeleteVerbs
from masthead._client.last_applied import apply_patch, configuration_of
from masthead._client.migration import ANNOTATION_MANAGER, annotation_to_keep, client_side_appliers
from masthead._client.options import PatchParameters
from masthead._client.patch_verbs import PatchVerbs
from masthead._meta.object import Object
from masthead._module import set_module
from masthead._schema.managed_fields_upgrade import upgrade_managed_fields_patch
from masthead.errors import AlreadyExistsError, ArgumentError, ConflictError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from masthead._client.options import PatchArguments, WriteArguments

__all__ = ["ResourceClient"]

T = TypeVar("T", bound=Object)


@set_module("masthead.aio")
class ResourceClient(RetryVerbs[T], PatchVerbs[T], DeleteVerbs[T], Generic[T]):
    """The objects of one kind, in one namespace or in all.

    Use it in annotations of code that works with any resource: ``client.core_v1.pods("x")`` and
    ``client.resource(Pod, "x")`` are both a ``ResourceClient[Pod]``, and ``client.dynamic("pods")`` is a
    ``ResourceClient[Unstructured]``.
    """

    async def apply(self, obj: T | Mapping[str, object], **options: Unpack[PatchArguments]) -> T:
        """Apply an object with server-side apply, and own the fields that it sets.

        Only fields that are set are sent, so a partial object is enough.

        Args:
            obj: The name, and the fields to own.
            options: ``dry_run``, ``field_manager``, ``field_validation``, ``force`` and ``timeout``; see
                `PatchArguments`.

        Raises:
            ApplyConflictError: If other managers own some of the fields with other values; its ``conflicts`` lists
                them, and `force` takes them over.
        """
        return await self._apply(obj, self._parameters(PatchParameters, "apply", options))

    async def apply_client_side(self, obj: T | Mapping[str, object], **options: Unpack[WriteArguments]) -> T:
        """Apply an object as ``kubectl apply`` does without ``--server-side``; either may continue the other's work.

        An object that does not exist is created. Otherwise it is patched: fields that are set are changed, fields
        that were applied last time and are not set any more are removed, and all others stay. The configuration is
        stored in the annotation ``kubectl.kubernetes.io/last-applied-configuration``.

        Args:
            obj: The name, and the fields to apply; not an object that was read, which has all fields.
            options: ``dry_run``, ``field_manager``, ``field_validation`` and ``timeout``; see `WriteArguments`.

        Raises:
            UnprocessableError: If the server refuses the object.
            ArgumentError: If it has no name, or if one of its lists cannot be merged.
        """
        parameters = self._parameters(PatchParameters, "apply_client_side", options)
        applied = await self._coerce(obj, parameters.field_validation)
        name = name_of(applied, "apply")
        if not applied.kind:
            raise ArgumentError(f"to apply {applied.key}, say what it is: its apiVersion and kind", value=applied.key)
        configuration = configuration_of(applied, self._namespace)
        namespace: str = applied.metadata.namespace

        async def apply_once() -> T:
            try:
                current = await self._read(name, namespace, parameters.timeout)
            except NotFoundError:
                created = (await self._target()).item.from_dict(configuration)
                return await self._post(created, parameters)
            patch = apply_patch(configuration, current, applied.gvk)
            if patch is None:
                return current
            return await self._patch(name, patch, parameters, namespace=namespace)

        # Another client may create the object in between, or change it if the configuration has a resource version.
        return await retry_on(apply_once, ConflictError, AlreadyExistsError)

    async def upgrade_managed_fields(
        self,
        name: str,
        csa_managers: str | Iterable[str] | None = None,
        *,
        field_manager: str | None = None,
        subresource: str = "",
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> T:
        """Hand the fields that client-side apply has set over to a field manager of server-side apply.

        Call this once, before server-side apply is first used on an object that was applied client-side: the first
        apply then has no conflicts with client-side apply, and removes fields that it no longer contains. It cannot be
        undone.

        ::

            await deployments.upgrade_managed_fields("web", field_manager="my-manager")
            await deployments.apply(Deployment.new("web", labels={"tier": "front"}), field_manager="my-manager")

        Args:
            name: The object's name.
            csa_managers: The managers who have applied it client-side; None for those whose updates own the annotation
                ``kubectl.kubernetes.io/last-applied-configuration``.
            field_manager: The field manager that takes over; required here or as the client's default.
            subresource: The subresource that they have written, such as ``status``; empty for the object itself.
            dry_run: Run validation and admission without storing anything.
            timeout: Timeout of each call, in seconds; None for the client's default.

        Returns:
            The object as the server stored it, or the object read before if there is nothing to change.

        Raises:
            ArgumentError: If there is no field manager.
            NotFoundError: If the object does not exist.
            ConflictError: If the object changes during every attempt.
            DecodeError: If its managed fields cannot be decoded.
        """
        manager = self._owner(field_manager, name)
        parameters = PatchParameters(dry_run=dry_run, field_manager=manager, timeout=timeout)
        given = (csa_managers,) if isinstance(csa_managers, str) else csa_managers and tuple(csa_managers)

        async def attempt() -> T:
            found = await self.get(name, timeout=timeout)
            if (kept := annotation_to_keep(found, manager)) is not None:
                found = await self._apply(kept, msgspec.structs.replace(parameters, field_manager=ANNOTATION_MANAGER))
            managers = client_side_appliers(found) if given is None else given
            patch = upgrade_managed_fields_patch(found, managers, manager, subresource=subresource)
            if patch is None:
                return found
            return await self._patch(name, patch, parameters)

        return await retry_on_conflict(attempt)
