"""Admission attributes: the request that a plugin decides about."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from masthead._meta.gvk import GroupVersionKind
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.options import DeletionOptions, WriteOptions
    from masthead_server.wire.plain import Plain
    from masthead_server.wire.user_info import UserInfo

__all__ = ["AdmissionAttributes", "Operation"]


class Operation(Enum):
    """What a request does to an object."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


@dataclass(slots=True, eq=False)
class AdmissionAttributes:
    """A request, after authorization and before its effect.

    Attributes:
        operation: The operation. A patch is an update; an apply or a PUT that creates its object is a create.
        served: The resource, in the version of the request.
        kind: The kind of `object`: that of the resource, or that of a subresource, such as Eviction.
        namespace: The namespace; for a Namespace its own name; empty for another cluster-scoped object.
        name: The name; empty for a create with a generated name, and for the deletion of a collection.
        user: Who sends the request.
        subresource: The subresource; empty for the object itself.
        object: The object to store, in the stored shape; mutating plugins change or replace it. None for a deletion.
        old: The stored object, in the stored shape; None for a create and a connect. Nothing may change it.
        sent_options: The options of the operation, as they were read; None for a connect.
        is_dry_run: Whether nothing is stored.
        warnings: The warnings of the response; plugins append to it.
        annotations: The audit annotations, by key.
    """

    operation: Operation
    served: ServedResource
    kind: GroupVersionKind
    namespace: str
    name: str
    user: UserInfo
    subresource: str = ""
    object: Plain | None = None
    old: Plain | None = None
    sent_options: WriteOptions | DeletionOptions | None = None
    is_dry_run: bool = False
    warnings: list[str] = field(default_factory=list[str])
    annotations: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def options(self) -> Plain | None:
        """The options of the operation, as an object of ``meta.k8s.io/v1``; None for a connect."""
        return self.sent_options.to_plain(self.operation.value) if self.sent_options is not None else None
