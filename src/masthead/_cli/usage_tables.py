"""The tables of ``top``, as kubectl lays them out. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._meta.plain import entries, part, text
from masthead._meta.quantity import Quantity, parse_quantity
from masthead._printers.layout import lay_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from masthead._meta.plain import Plain

__all__ = ["NodeUsage", "PodUsage", "UsageOptions", "node_table", "pod_table"]

_MEBIBYTE: Final = 1024 * 1024
_UNKNOWN: Final = "<unknown>"
_RULE: Final = "________"
_UNITS: Final = {"cpu": "CPU(cores)", "memory": "MEMORY(bytes)", "swap": "SWAP(bytes)"}
_NOTHING: Final = Quantity(0)


@dataclass(frozen=True, slots=True)
class UsageOptions:
    """The options of both tables.

    Attributes:
        resources: The resources with a column.
        sort_by: The resource by which rows are sorted, the largest first; empty for names.
        headers: With the names of the columns.
    """

    resources: Sequence[str] = ("cpu", "memory")
    sort_by: str = ""
    headers: bool = True


@dataclass(frozen=True, slots=True)
class ContainerUsage:
    """What a container uses.

    Attributes:
        name: Its name.
        amounts: The amount of each resource.
    """

    name: str
    amounts: Mapping[str, Quantity]


@dataclass(frozen=True, slots=True)
class PodUsage:
    """What a pod uses.

    Attributes:
        namespace: Its namespace.
        name: Its name.
        containers: Its containers.
    """

    namespace: str
    name: str
    containers: Sequence[ContainerUsage]

    @classmethod
    def of(cls, metrics: Plain) -> PodUsage:
        """Read PodMetrics.

        Raises:
            QuantityError: If an amount is invalid.
        """
        metadata = part(metrics, "metadata")
        containers = [
            ContainerUsage(text(entry, "name"), _amounts(part(entry, "usage")))
            for entry in entries(metrics, "containers")
        ]
        return cls(text(metadata, "namespace"), text(metadata, "name"), containers)

    @property
    def amounts(self) -> Mapping[str, Quantity]:
        """The sums of its containers."""
        return _sum(container.amounts for container in self.containers)


@dataclass(frozen=True, slots=True)
class NodeUsage:
    """The resources of a node, and their usage.

    Attributes:
        name: Its name.
        available: Its capacity, or the allocatable part; without resources that it does not report.
        amounts: The usage; None if unknown.
    """

    name: str
    available: Mapping[str, Quantity]
    amounts: Mapping[str, Quantity] | None = None

    @classmethod
    def of(cls, node: Plain, metrics: Plain | None, *, of_capacity: bool) -> NodeUsage:
        """Read a node, and its NodeMetrics.

        Raises:
            QuantityError: If an amount is invalid.
        """
        status = part(node, "status")
        available = _amounts(part(status, "capacity" if of_capacity else "allocatable"))
        # Swap is neither capacity nor allocatable: pods cannot request it.
        swap = part(status, "nodeInfo", "swap").get("capacity")
        return cls(
            text(part(node, "metadata"), "name"),
            {**available, "swap": parse_quantity(swap)} if swap is not None else available,
            _amounts(part(metrics, "usage")) if metrics is not None else None,
        )


def _amounts(usage: Plain) -> dict[str, Quantity]:
    return {resource: parse_quantity(amount) for resource, amount in usage.items()}


def _sum(usages: Iterable[Mapping[str, Quantity]]) -> dict[str, Quantity]:
    total: dict[str, Quantity] = {}
    for usage in usages:
        for resource, amount in usage.items():
            total[resource] = total[resource] + amount if resource in total else amount
    return total


def pod_table(
    pods: Sequence[PodUsage], options: UsageOptions, *, containers: bool, namespaces: bool, total: bool
) -> str:
    """Lay out the usage of pods.

    Args:
        pods: The pods.
        options: The options of the table.
        containers: Whether each container has a row.
        namespaces: Whether rows begin with their namespaces.
        total: Whether the sums are the last row.
    """
    head = [*(["NAMESPACE"] if namespaces else []), *(["POD"] if containers else []), "NAME"]
    rows: list[list[str]] = []
    for pod in sorted(pods, key=lambda pod: (_sort_key(pod.amounts, options), pod.namespace, pod.name)):
        place = [pod.namespace] if namespaces else []
        if containers:
            ordered = sorted(pod.containers, key=lambda found: (_sort_key(found.amounts, options), found.name))
            rows += [[*place, pod.name, found.name, *_cells(found.amounts, options)] for found in ordered]
        else:
            rows.append([*place, pod.name, *_cells(pod.amounts, options)])
    # differs from kubectl: with -A --no-headers or --show-swap, its sums are below other columns.
    if total:
        sums = _sum(pod.amounts for pod in pods)
        rows.append([*(len(head) * [""]), *(len(options.resources) * [_RULE])])
        rows.append([*(len(head) * [""]), *_cells(sums, options)])
    return _lay_out([*head, *(_UNITS[resource] for resource in options.resources)], rows, options)


def node_table(nodes: Sequence[NodeUsage], options: UsageOptions) -> str:
    """Lay out the usage of nodes; those without a known usage are the last."""
    head = ["NAME"]
    for resource in options.resources:
        head += [_UNITS[resource], f"{resource.upper()}(%)"]
    ordered = sorted(nodes, key=lambda node: (node.amounts is None, _sort_key(node.amounts or {}, options), node.name))
    rows = [[node.name, *_node_cells(node, options)] for node in ordered]
    return _lay_out(head, rows, options)


def _node_cells(node: NodeUsage, options: UsageOptions) -> list[str]:
    cells: list[str] = []
    for resource in options.resources:
        available = node.available.get(resource)
        if node.amounts is None or available is None:
            cells += [_UNKNOWN, _UNKNOWN]
        else:
            used = node.amounts.get(resource, _NOTHING)
            cells += [_FORMATS[resource](used), _percent(used, available)]
    return cells


def _percent(used: Quantity, available: Quantity) -> str:
    # In Go's arithmetic, whose rounding decides about the last digit.
    fraction = used.milli_value() / available.milli_value() * 100 if available else 0.0
    return f"{int(fraction)}%"


def _sort_key(amounts: Mapping[str, Quantity], options: UsageOptions) -> int:
    return -amounts.get(options.sort_by, _NOTHING).milli_value()


def _cells(amounts: Mapping[str, Quantity], options: UsageOptions) -> list[str]:
    return [_FORMATS[resource](amounts.get(resource, _NOTHING)) for resource in options.resources]


def _format_cores(amount: Quantity) -> str:
    return f"{amount.milli_value()}m"


def _format_bytes(amount: Quantity) -> str:
    return f"{amount.value() // _MEBIBYTE}Mi"


_FORMATS: Final[Mapping[str, Callable[[Quantity], str]]] = {
    "cpu": _format_cores,
    "memory": _format_bytes,
    "swap": _format_bytes,
}


def _lay_out(head: Sequence[str], rows: Iterable[Sequence[str]], options: UsageOptions) -> str:
    lines = [*([head] if options.headers else []), *rows]
    # Each cell of kubectl's ends in a tab, the last one as well.
    return lay_out([*line, ""] for line in lines) + "\n"
