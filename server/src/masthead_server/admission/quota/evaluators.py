"""Evaluators: what an object of a resource uses of a quota."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.quantity import Quantity
from masthead_server.admission.attributes import Operation
from masthead_server.wire.failures import qualified

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.admission.quota.scopes import Scope
    from masthead_server.resources.amounts import Amounts
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["ONE", "Evaluator", "count_name"]

ONE: Final = Quantity(1)
_ALIASES: Final = frozenset({"configmaps", "replicationcontrollers", "resourcequotas", "secrets"})
"""Resources that quotas also count by their bare names."""


def count_name(group: str, resource: str) -> str:
    """Return the name by which quotas count the objects of a resource."""
    return f"count/{qualified(group, resource)}"


class Evaluator:
    """Counts the objects of a resource; evaluators of some resources measure more.

    Args:
        served: The resource.
    """

    counts_updates = False
    """Whether an update may change what an object uses."""
    subresources: frozenset[str] = frozenset()
    """The subresources whose updates may change it."""

    def __init__(self, served: ServedResource) -> None:
        self.table = served.table
        name = count_name(served.group, served.name)
        is_aliased = not served.group and served.name in _ALIASES
        self.counted: tuple[str, ...] = (name, served.name) if is_aliased else (name,)
        """The names of the counts."""

    def handles(self, operation: Operation, subresource: str) -> bool:
        """Tell whether an operation may change the usage."""
        if subresource:
            return operation is Operation.UPDATE and subresource in self.subresources
        return operation is Operation.CREATE or (operation is Operation.UPDATE and self.counts_updates)

    def concerns(self, attributes: AdmissionAttributes) -> bool:  # noqa: ARG002 - other evaluators need it
        """Tell whether a request that it handles may change the usage."""
        return True

    def matching(self, names: Iterable[str]) -> list[str]:
        """Return those names of a quota's limits that are about the resource."""
        return [name for name in names if self.measures(name)]

    def measures(self, name: str) -> bool:
        """Tell whether a limit is about the resource."""
        return name in self.counted

    def is_in_scope(self, scope: Scope, found: Plain) -> bool:  # noqa: ARG002 - other evaluators need it
        """Tell whether an object is in a scope."""
        return False

    def find_missing(self, required: Iterable[str], found: Plain) -> str:  # noqa: ARG002 - other evaluators need it
        """Return what an object must specify for the limits of a quota; empty if nothing is missing."""
        return ""

    def measure(self, found: Plain, now: datetime) -> Amounts:  # noqa: ARG002 - other evaluators need it
        """Return what an object uses."""
        return dict.fromkeys(self.counted, ONE)
