"""The settings of an operator's manifests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from masthead._controller.manager_webhooks import serves_webhooks
from masthead._meta import names
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from masthead._controller.manager import Manager
    from masthead._controller.options import RunOptions

__all__ = ["Deploy"]

_NAME_LABEL = "app.kubernetes.io/name"


@dataclass(frozen=True, slots=True)
class Deploy:
    """The deployment of an operator.

    Attributes:
        manager: The manager.
        options: The options of its run.
        target: The argument of ``masthead run``: ``website.main:app``.
        image: The image.
        namespace: The namespace of its pods.
        has_namespace: Whether the namespace exists already.
        replicas: The number of pods; None for one if two must not run at the same time, else two.
        uses_cert_manager: Whether cert-manager issues the certificate of webhooks.

    Raises:
        ConfigError: If the name of the manager or of the namespace is invalid.
    """

    manager: Manager
    options: RunOptions
    target: str
    image: str
    namespace: str
    has_namespace: bool = True
    replicas: int | None = None
    uses_cert_manager: bool = False

    def __post_init__(self) -> None:
        if problem := names.problem_with_dns1123_label(self.name):
            raise ConfigError(
                f"the name of the manager, {names.quote(self.name)}, {problem}; write Manager(name='website-operator')"
            )
        if problem := names.problem_with_dns1123_label(self.namespace):
            raise ConfigError(f"the namespace {names.quote(self.namespace)} {problem}")
        # Checked when the manifests are written, because the replicas themselves cannot notice each other.
        if self.is_single and self.count > 1:
            raise ConfigError(
                f"{self.count} replicas would do the same work at the same time; elect a leader, "
                f"Manager(leader_election='{self.name}'), or share the work, Manager(sharding='{self.name}')"
            )

    @property
    def name(self) -> str:
        """The name of all objects."""
        return self.manager.name

    @property
    def is_single(self) -> bool:
        """Whether two replicas must not run at the same time.

        Webhooks need no leader: every replica answers them.
        """
        if self.serves_webhooks and not self.manager.controllers and not self.manager.timers:
            return False
        return not (self.options.leader_election or self.options.sharding)

    @property
    def count(self) -> int:
        """The number of replicas."""
        return self.replicas if self.replicas is not None else 1 if self.is_single else 2

    @property
    def serves_webhooks(self) -> bool:
        """Whether the pods serve webhooks."""
        return serves_webhooks(self.manager, self.options)

    @property
    def selector(self) -> dict[str, str]:
        """The labels of its pods."""
        return {_NAME_LABEL: self.name}

    def metadata(self, namespace: str | None = None) -> dict[str, object]:
        """Return the metadata of an object.

        Args:
            namespace: Its namespace; None for a cluster-scoped object.
        """
        where = {} if namespace is None else {"namespace": namespace}
        return {"name": self.name, **where, "labels": self.selector}
