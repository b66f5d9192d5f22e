"""Admission attributes: the request that a plugin decides about."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from masthead._meta.gvk import GroupVersionKind
    from masthead_server.admission.chain import Phases
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.options import DeletionOptions, WriteOptions
    from masthead_server.wire.plain import Plain
    from masthead_server.wire.user_info import UserInfo

__all__ = ["AdmissionAttributes", "Operation", "Reinvocation", "ReinvocableCalls"]


class Operation(Enum):
    """What a request does to an object."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


@dataclass(slots=True, eq=False)
class ReinvocableCalls:
    """The calls of one plugin that may have to be repeated, because something has changed the object after them.

    Attributes:
        invoked: What was called and wants to see later changes, by its uid.
        required: What is to be called again in the second round.
        last_output: The object after the plugin's last call.
    """

    invoked: set[str] = field(default_factory=set[str])
    required: set[str] = field(default_factory=set[str])
    last_output: Plain | None = None

    def require_all(self) -> None:
        """Have everything called again that was called so far."""
        self.required |= self.invoked
        self.invoked.clear()


@dataclass(slots=True, eq=False)
class Reinvocation:
    """The second round of mutating admission, which follows if a webhook or a policy has changed the object.

    Attributes:
        is_requested: Whether a plugin has changed the object, so that a second round follows.
        is_second_round: Whether it runs.
        is_decoded: Whether the object was decoded after a patch of a webhook.
    """

    is_requested: bool = False
    is_second_round: bool = False
    is_decoded: bool = False
    _calls: dict[str, ReinvocableCalls] = field(default_factory=dict[str, ReinvocableCalls])

    def calls_of(self, plugin: str) -> ReinvocableCalls:
        """Return the calls of a plugin."""
        return self._calls.setdefault(plugin, ReinvocableCalls())


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
        phases: The plugins that decide, if the chain was asked for them before; otherwise None.
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
    phases: Phases | None = None
    _reinvocation: Reinvocation | None = None

    @property
    def options(self) -> Plain | None:
        """The options of the operation, as an object of ``meta.k8s.io/v1``; None for a connect."""
        return self.sent_options.to_plain(self.operation.value) if self.sent_options is not None else None

    @property
    def reinvocation(self) -> Reinvocation:
        """The second round of mutating admission, for plugins that may be called again."""
        # Made on demand: hardly any request meets such a plugin.
        if self._reinvocation is None:
            self._reinvocation = Reinvocation()
        return self._reinvocation

    @property
    def needs_second_round(self) -> bool:
        """Whether a webhook or a policy has changed the object."""
        return self._reinvocation is not None and self._reinvocation.is_requested
