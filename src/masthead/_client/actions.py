"""What can be done with the objects of a few kinds beside reading and writing them.

As in `masthead._client.subresources`, one class per part, put together by the clientset.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from masthead._client.logs import LogStream, log_query
from masthead._client.options import delete_options
from masthead._client.subresources import SubresourceBase
from masthead._meta.object import Object

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from masthead._client.options import FieldValidation
    from masthead._meta.v1 import DeletionPropagation
    from masthead.api.authentication.v1 import TokenRequest

__all__ = [
    "ApprovalVerbs",
    "BindingVerbs",
    "EphemeralContainerVerbs",
    "EvictionVerbs",
    "FinalizeVerbs",
    "LogVerbs",
    "ResizeVerbs",
    "TokenVerbs",
]

T = TypeVar("T", bound=Object)


class EvictionVerbs(SubresourceBase[T], Generic[T]):
    """For what can be asked to leave its node."""

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
        """Delete an object unless a disruption budget forbids it. The options are those of `delete`.

        Raises:
            TooManyRequestsError: if the budget allows no further disruption now.
        """
        options = delete_options(
            grace_period_seconds=grace_period_seconds,
            propagation_policy=propagation_policy,
            uid=uid,
            resource_version=resource_version,
            dry_run=dry_run,
        )
        content = {"deleteOptions": options} if options else {}
        await self._act(name, "eviction", content, field_manager=field_manager, timeout=timeout)


class BindingVerbs(SubresourceBase[T], Generic[T]):
    """For what is placed on a node."""

    async def bind(
        self,
        name: str,
        node: str,
        *,
        dry_run: bool = False,
        field_manager: str | None = None,
        timeout: float | None = None,
    ) -> None:
        """Place an object on a node, as a scheduler does.

        Raises:
            ConflictError: if it is placed already.
        """
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        content = {"target": target}
        await self._act(
            name, "binding", content, dry_run=dry_run, field_manager=field_manager, timeout=timeout
        )


class EphemeralContainerVerbs(SubresourceBase[T], Generic[T]):
    """For what can be looked into while it runs."""

    async def update_ephemeral_containers(
        self,
        obj: T | Mapping[str, object],
        *,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> T:
        """Add containers for looking around; the object's other fields are ignored.

        Raises:
            ConflictError: if the object was changed since it was read.
        """
        return await self._put(
            obj,
            subresource="ephemeralcontainers",
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            timeout=timeout,
        )


class ResizeVerbs(SubresourceBase[T], Generic[T]):
    """For what can be given more while it runs."""

    async def update_resize(
        self,
        obj: T | Mapping[str, object],
        *,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> T:
        """Change the resources of running containers; the object's other fields are ignored.

        Raises:
            ConflictError: if the object was changed since it was read.
        """
        return await self._put(
            obj,
            subresource="resize",
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            timeout=timeout,
        )


class TokenVerbs(SubresourceBase[T], Generic[T]):
    """For accounts that tokens are made for."""

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
        """Make a token for an account; it is in the answer's ``status.token``.

        Args:
            name: Whose token.
            audiences: Who will be shown it; the API server itself if left out.
            expiration_seconds: How long it lasts, from 600 up; the server may give less.
            bound_object: The token dies with this object, which must have been read from the server.
            dry_run: Go through everything, and make none.
            field_manager: Under which name it is recorded.
            timeout: Seconds for the whole call.
        """
        spec: dict[str, object] = {"audiences": list(audiences)}
        if expiration_seconds is not None:
            spec["expirationSeconds"] = expiration_seconds
        if bound_object is not None:
            spec["boundObjectRef"] = {
                "apiVersion": bound_object.gvk.api_version,
                "kind": bound_object.gvk.kind,
                "name": bound_object.metadata.name,
                "uid": bound_object.metadata.uid,
            }
        cls = await self._kind_of("token")
        made = await self._part(
            "create",
            name,
            "token",
            cls.from_dict({"spec": spec}),
            dry_run=dry_run,
            field_manager=field_manager,
            timeout=timeout,
        )
        return cast("TokenRequest", made)


class ApprovalVerbs(SubresourceBase[T], Generic[T]):
    """For requests that somebody has to decide on."""

    async def update_approval(
        self,
        obj: T | Mapping[str, object],
        *,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> T:
        """Replace a request's conditions; its other fields are ignored.

        Raises:
            ConflictError: if the request was changed since it was read.
        """
        return await self._put(
            obj,
            subresource="approval",
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            timeout=timeout,
        )

    async def approve(
        self, name: str, *, reason: str = "Approved", message: str = "", timeout: float | None = None
    ) -> T:
        """Say yes to a request. Whoever said so already is left alone; a request that was denied stays denied.

        Raises:
            InvalidError: if it was denied.
        """
        return await self._decide(name, "Approved", reason, message, timeout)

    async def deny(
        self, name: str, *, reason: str = "Denied", message: str = "", timeout: float | None = None
    ) -> T:
        """Say no to a request.

        Raises:
            InvalidError: if it was approved.
        """
        return await self._decide(name, "Denied", reason, message, timeout)

    async def _decide(self, name: str, said: str, reason: str, message: str, timeout: float | None) -> T:
        """Add a condition; conditions of other types, and other people's, stay as they are."""
        current = await self._get_object(await self._build_call("get", name=name, timeout=timeout))
        data = current.to_dict()
        status = cast("dict[str, list[dict[str, str]]]", data.setdefault("status", {}))
        conditions = status.setdefault("conditions", [])
        if any(each.get("type") == said for each in conditions):
            return current
        conditions.append({"type": said, "status": "True", "reason": reason, "message": message})
        return await self.update_approval(data, timeout=timeout)


class FinalizeVerbs(SubresourceBase[T], Generic[T]):
    """For what waits for others before it goes."""

    async def finalize(
        self,
        obj: T | Mapping[str, object],
        *,
        dry_run: bool = False,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> T:
        """Replace the finalizers in an object's spec, which lets it go once none is left.

        Raises:
            ConflictError: if the object was changed since it was read.
        """
        return await self._put(
            obj,
            subresource="finalize",
            dry_run=dry_run,
            field_manager=field_manager,
            field_validation=field_validation,
            timeout=timeout,
        )


class LogVerbs(SubresourceBase[T], Generic[T]):
    """For what writes logs."""

    def logs(
        self,
        name: str,
        *,
        container: str | None = None,
        follow: bool = False,
        previous: bool = False,
        since: datetime | None = None,
        since_seconds: int | None = None,
        tail_lines: int | None = None,
        limit_bytes: int | None = None,
        timestamps: bool = False,
        insecure_skip_tls_verify_backend: bool = False,
        read_timeout: float | None = None,
    ) -> LogStream:
        """Read what a container writes, as it comes.

        ::

            async for line in pods.logs("web", follow=True):
                print(line)

            text = await pods.logs("web", tail_lines=100).read()

        Args:
            name: Of which object.
            container: Which container; may be left out where there is one.
            follow: Go on with what is written from now on.
            previous: What the container wrote before it was restarted.
            since: From this time on.
            since_seconds: From so many seconds ago on.
            tail_lines: Begin with the last lines only.
            limit_bytes: End after so many bytes.
            timestamps: Begin each line with the time at which it was written.
            insecure_skip_tls_verify_backend: Do not check the certificate of the node.
            read_timeout: Seconds without a byte after which the log counts as broken off. None for the client's own or, for
                a log that is followed, for as long as it takes: it may be quiet for hours.

        Raises:
            InvalidValueError: if options contradict each other.
            StatusError: while reading, if the server refuses.
        """
        query = log_query(
            container=container,
            follow=follow,
            previous=previous,
            since=since,
            since_seconds=since_seconds,
            tail_lines=tail_lines,
            limit_bytes=limit_bytes,
            timestamps=timestamps,
            insecure_skip_tls_verify_backend=insecure_skip_tls_verify_backend,
        )
        quiet = math.inf if read_timeout is None and follow else read_timeout
        return LogStream(
            self._context.rest,
            lambda: self._build_call("get", name=name, subresource="log", query=query, read_timeout=quiet),
        )
