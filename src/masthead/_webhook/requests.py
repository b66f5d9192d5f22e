"""The request that a webhook decides about."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from masthead._meta.object import Object
from masthead._module import set_module
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._meta.gvk import GroupVersionKind, GroupVersionResource

__all__ = ["AdmissionRequest", "Operation", "UserInfo"]

T = TypeVar("T", bound=Object)

Operation: TypeAlias = Literal["CREATE", "UPDATE", "DELETE", "CONNECT"]
"""The operation of a request. A patch is an update."""


@set_module("masthead.webhook")
@dataclass(frozen=True, slots=True)
class UserInfo:
    """The user who sent a request.

    Attributes:
        username: The name, such as ``system:serviceaccount:shop:deployer``.
        uid: The unique identifier; empty if the authenticator has none.
        groups: The groups.
        extra: Further attributes of the authenticator.
    """

    username: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


@set_module("masthead.webhook")
@dataclass(slots=True, eq=False)
class AdmissionRequest(Generic[T]):
    """A request to the API server that a webhook admits or refuses.

    Attributes:
        uid: The identifier of the call.
        operation: ``CREATE``, ``UPDATE``, ``DELETE`` or ``CONNECT``.
        kind: The kind of the object.
        resource: The resource of the request.
        subresource: The subresource; empty for the object itself.
        namespace: The namespace; empty for a cluster-scoped object.
        name: The name; empty for an object whose name is generated later.
        user: The user who sent the request.
        object: The object after the request; None for a deletion.
        old: The stored object; None for a create.
        dry_run: Whether nothing is stored: a webhook must not have side effects then.
        options: The options of the request, as plain data.
        warnings: The warnings for the client; see `warn`.
        audit_annotations: Annotations for the audit log of the API server; see `annotate`.
    """

    uid: str
    operation: Operation
    kind: GroupVersionKind
    resource: GroupVersionResource
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    user: UserInfo = field(default_factory=UserInfo)
    object: T | None = None
    old: T | None = None
    dry_run: bool = False
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    warnings: list[str] = field(default_factory=list[str])
    audit_annotations: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def subject(self) -> T:
        """The object that the request is about: the new one, or the deleted one.

        Raises:
            ArgumentError: If the request has none, as the deletion of a collection on an old API server.
        """
        found = self.object if self.object is not None else self.old
        if found is None:
            raise ArgumentError(f"the request to {self.operation} {self.kind.kind} has no object")
        return found

    def warn(self, message: str) -> None:
        """Add a warning for the client; kubectl prints it.

        API servers truncate warnings to 256 characters, and more than 4096 characters in all are dropped.
        """
        # Header values are single lines.
        self.warnings.append(" ".join(message.split()))

    def annotate(self, key: str, value: str) -> None:
        """Add an annotation to the audit log of the API server, which prefixes the key with the webhook's name."""
        self.audit_annotations[key] = value
