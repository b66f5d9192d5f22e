"""The verbs of subresources that only a few resources have: eviction, binding, approval and others.

As in `masthead._client.subresources`, one class per subresource, combined by the clientset.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, Unpack, cast

from masthead._client.options import DeleteParameters, WriteParameters
from masthead._client.subresources import SubresourceBase
from masthead._meta.object import Object
from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from masthead._client.options import WriteArguments
    from masthead._meta.v1 import DeletionPropagation
    from masthead.api.authentication.v1 import TokenRequest

__all__ = [
    "ApprovalVerbs",
    "BindingVerbs",
    "EphemeralContainerVerbs",
    "EvictionVerbs",
    "FinalizeVerbs",
    "ResizeVerbs",
    "TokenVerbs",
]

T = TypeVar("T", bound=Object)


@set_module("masthead.aio.clientset")
class EvictionVerbs(SubresourceBase[T], Generic[T]):
    """For resources with an eviction subresource: pods."""

    async def evict(
        self,
        name: str,
        *,
        grace_period_seconds: int | None = None,
        propagation_policy: DeletionPropagation | None = None,
        uid: str | None = None,
        resource_version: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Evict a pod: delete it unless a PodDisruptionBudget forbids it. The options are those of `delete`.

        Raises:
            TooManyRequestsError: If the budget allows no disruption now.
        """
        deletion = DeleteParameters(
            grace_period_seconds=grace_period_seconds,
            propagation_policy=propagation_policy,
            uid=uid,
            resource_version=resource_version,
            dry_run=dry_run,
        ).to_plain()
        content = {"deleteOptions": deletion} if deletion else {}
        options = WriteParameters(field_manager=field_manager, timeout=timeout)
        await self._post_action(name, "eviction", content, options)


@set_module("masthead.aio.clientset")
class BindingVerbs(SubresourceBase[T], Generic[T]):
    """For resources with a binding subresource: pods."""

    async def bind(
        self,
        name: str,
        node: str,
        *,
        dry_run: bool = False,
        field_manager: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Bind a pod to a node, as a scheduler does.

        Raises:
            ConflictError: If the pod is bound already.
        """
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        content = {"target": target}
        options = WriteParameters(dry_run=dry_run, field_manager=field_manager, timeout=timeout)
        await self._post_action(name, "binding", content, options)


@set_module("masthead.aio.clientset")
class EphemeralContainerVerbs(SubresourceBase[T], Generic[T]):
    """For resources with an ephemeralcontainers subresource: pods."""

    async def update_ephemeral_containers(self, obj: T | Mapping[str, object], **options: Unpack[WriteArguments]) -> T:
        """Add ephemeral containers for debugging; the object's other fields are ignored.

        Args:
            obj: The object to send, or plain data.
            options: ``dry_run``, ``field_manager``, ``field_validation`` and ``timeout``; see `WriteArguments`.

        Raises:
            ConflictError: If the object has changed since it was read.
        """
        return await self._put(
            obj,
            self._parameters(WriteParameters, "update_ephemeral_containers", options),
            subresource="ephemeralcontainers",
        )


@set_module("masthead.aio.clientset")
class ResizeVerbs(SubresourceBase[T], Generic[T]):
    """For resources with a resize subresource: pods."""

    async def update_resize(self, obj: T | Mapping[str, object], **options: Unpack[WriteArguments]) -> T:
        """Resize the containers of a running pod; the object's other fields are ignored.

        Args:
            obj: The object to send, or plain data.
            options: ``dry_run``, ``field_manager``, ``field_validation`` and ``timeout``; see `WriteArguments`.

        Raises:
            ConflictError: If the object has changed since it was read.
        """
        return await self._put(obj, self._parameters(WriteParameters, "update_resize", options), subresource="resize")


@set_module("masthead.aio.clientset")
class TokenVerbs(SubresourceBase[T], Generic[T]):
    """For resources with a token subresource: service accounts."""

    async def create_token(
        self,
        name: str,
        *,
        audiences: Sequence[str] = (),
        expiration_seconds: int | None = None,
        bound_object: Object | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        timeout: float | None = None,
    ) -> TokenRequest:
        """Request a token for a service account; it is in the response's ``status.token``.

        Args:
            name: The service account's name.
            audiences: The audiences of the token; the API server itself if left out.
            expiration_seconds: The requested lifetime, at least 600; the server may grant less.
            bound_object: Bind the token to this object, which must have been read from the server; the token
                becomes invalid when the object is deleted.
            dry_run: Run validation and admission without issuing a token.
            field_manager: The field manager to record.
            timeout: Timeout of the whole call, in seconds.
        """
        spec: dict[str, object] = {"audiences": list(audiences)}
        if expiration_seconds is not None:
            spec["expirationSeconds"] = expiration_seconds
        if bound_object is not None:
            # With the uid: a later object of the same name must not get the token.
            spec["boundObjectRef"] = {
                "apiVersion": bound_object.gvk.api_version,
                "kind": bound_object.gvk.kind,
                "name": bound_object.metadata.name,
                "uid": bound_object.metadata.uid,
            }
        cls = await self._kind_of("token")
        issued = await self._subresource(
            "create",
            name,
            "token",
            cls.from_dict({"spec": spec}),
            WriteParameters(dry_run=dry_run, field_manager=field_manager, timeout=timeout),
        )
        return cast("TokenRequest", issued)


@set_module("masthead.aio.clientset")
class ApprovalVerbs(SubresourceBase[T], Generic[T]):
    """For resources with an approval subresource: certificate signing requests."""

    async def update_approval(self, obj: T | Mapping[str, object], **options: Unpack[WriteArguments]) -> T:
        """Replace a request's conditions; its other fields are ignored.

        Args:
            obj: The object to send, or plain data.
            options: ``dry_run``, ``field_manager``, ``field_validation`` and ``timeout``; see `WriteArguments`.

        Raises:
            ConflictError: If the request has changed since it was read.
        """
        return await self._put(
            obj, self._parameters(WriteParameters, "update_approval", options), subresource="approval"
        )

    async def approve(
        self, name: str, *, reason: str = "Approved", message: str = "", timeout: float | None = None
    ) -> T:
        """Approve a request. An approved request does not change; a denied request stays denied.

        Raises:
            UnprocessableError: If the request was denied.
        """
        return await self._decide(name, "Approved", reason, message, timeout)

    async def deny(self, name: str, *, reason: str = "Denied", message: str = "", timeout: float | None = None) -> T:
        """Deny a request.

        Raises:
            UnprocessableError: If the request was approved.
        """
        return await self._decide(name, "Denied", reason, message, timeout)

    async def _decide(self, name: str, condition: str, reason: str, message: str, timeout: float | None) -> T:
        """Add a condition; other conditions stay as they are."""
        current = await self._read(name, timeout=timeout)
        data = current.to_dict()
        status = cast("dict[str, list[dict[str, str]]]", data.setdefault("status", {}))
        conditions = status.setdefault("conditions", [])
        if any(existing.get("type") == condition for existing in conditions):
            return current
        conditions.append({"type": condition, "status": "True", "reason": reason, "message": message})
        return await self.update_approval(data, timeout=timeout)


@set_module("masthead.aio.clientset")
class FinalizeVerbs(SubresourceBase[T], Generic[T]):
    """For resources with a finalize subresource: namespaces."""

    async def finalize(self, obj: T | Mapping[str, object], **options: Unpack[WriteArguments]) -> T:
        """Replace the finalizers in an object's spec; it can be deleted once none is left.

        Args:
            obj: The object to send, or plain data.
            options: ``dry_run``, ``field_manager``, ``field_validation`` and ``timeout``; see `WriteArguments`.

        Raises:
            ConflictError: If the object has changed since it was read.
        """
        return await self._put(obj, self._parameters(WriteParameters, "finalize", options), subresource="finalize")
