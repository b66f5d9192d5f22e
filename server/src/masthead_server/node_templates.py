"""`NodeTemplate`: nodes that a server registers at its start, and the settings that describe them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

from masthead._meta.names import problem_with_dns1123_subdomain
from masthead._meta.quantity import Quantity
from masthead._module import set_module
from masthead.errors import ConfigError
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from masthead_server.wire.plain import Plain

    NodeSettings: TypeAlias = int | Sequence["NodeTemplate | Mapping[str, object]"]

__all__ = [
    "MAX_NODES",
    "NODE_NAME",
    "NodeTemplate",
    "PlannedNode",
    "plan_nodes",
    "read_templates",
    "spread_templates",
    "taints_of",
]

NODE_NAME: Final = "masthead-node"
"""The default name of nodes."""
MAX_NODES: Final = 10_000
"""Twice as many as Kubernetes supports in a cluster."""
_REGION: Final = "masthead"
_ZONES: Final = tuple(f"{_REGION}-{letter}" for letter in "abc")
_TEXTS: Final = ("name", "region", "operating_system", "architecture", "provider_id")
_SWITCHES: Final = ("unschedulable",)
_MAPPINGS: Final = ("labels", "annotations", "capacity", "allocatable", "info")
_QUANTITIES: Final = ("capacity", "allocatable")
_OF_TEXT: Final = ("labels", "annotations", "info")
"""Mappings whose values are text."""
_NODES: Final = frozenset({"", "Node", "v1 Node"})
_LISTS: Final = frozenset({"", "List", "NodeList", "v1 List", "v1 NodeList"})
_EFFECTS: Final = frozenset({"NoSchedule", "PreferNoSchedule", "NoExecute"})


@set_module("masthead.server")
@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTemplate:
    """One or several nodes of a kind, for ``nodes`` of `masthead.server.run`.

    Attributes:
        name: The name of the first node; the others append ``-2``, ``-3`` and so on.
        count: How many nodes.
        labels: Labels, in addition to ``kubernetes.io/hostname``, ``kubernetes.io/os`` and ``kubernetes.io/arch``.
        annotations: Annotations.
        taints: Taints, as text (``dedicated=db:NoSchedule``) or as in ``spec.taints``.
        capacity: Quantities by resource, over the default of 8 CPUs, 32 GiB of memory, 100 GiB of storage, 110 pods.
        allocatable: Quantities by resource that differ from the capacity.
        zones: The zones, in turn (``topology.kubernetes.io/zone``).
        region: The region (``topology.kubernetes.io/region``).
        operating_system: The operating system.
        architecture: The architecture.
        unschedulable: Whether the nodes are cordoned.
        provider_id: ``spec.providerID``, for the first node; the others append a number as to the name.
        info: Further fields of ``status.nodeInfo``, such as ``kubeletVersion``.
    """

    name: str = NODE_NAME
    count: int = 1
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    taints: Sequence[str | Mapping[str, str]] = ()
    capacity: Mapping[str, str | int] = field(default_factory=dict[str, str | int])
    allocatable: Mapping[str, str | int] = field(default_factory=dict[str, str | int])
    zones: Sequence[str] = ()
    region: str = ""
    operating_system: str = "linux"
    architecture: str = "amd64"
    unschedulable: bool = False
    provider_id: str = ""
    info: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ConfigError: If one is invalid.
        """
        for name in _TEXTS:
            _require(isinstance(getattr(self, name), str), name, "must be text", getattr(self, name))
        for name in _MAPPINGS:
            _require(isinstance(getattr(self, name), Mapping), name, "must be a mapping", getattr(self, name))
        for name in _OF_TEXT:
            for key, value in getattr(self, name).items():
                is_text = isinstance(key, str) and isinstance(value, str)
                _require(is_text, f"{name} {key}", "must be text, such as 'true' or '1' in quotes", value)
        for name in ("taints", "zones"):
            _require(_is_list(getattr(self, name)), name, "must be a list", getattr(self, name))
        for zone in cast("Sequence[object]", self.zones):
            _require(isinstance(zone, str), "zones", "must be a list of texts", zone)
        for name in _SWITCHES:
            _require(isinstance(getattr(self, name), bool), name, "must be a bool", getattr(self, name))
        problem = problem_with_dns1123_subdomain(self.name)
        _require(problem is None, "name", f"is no name of a node ({problem})", self.name)
        _require(_is_count(self.count), "count", f"must be a whole number up to {MAX_NODES:,}", self.count)
        for name in _QUANTITIES:
            for resource, quantity in getattr(self, name).items():
                _require(
                    _is_quantity(quantity), f"{name} of {resource}", "must be a quantity, such as 8 or 32Gi", quantity
                )
        for taint in self.taints:
            _require(_taint_of(taint) is not None, "taints", "must be like key=value:NoSchedule", taint)


class PlannedNode(NamedTuple):
    """A node to be registered.

    Attributes:
        name: Its name.
        template: What it looks like.
        zone: Its zone; empty for none.
        provider_id: Its provider's id; empty for none.
    """

    name: str
    template: NodeTemplate
    zone: str
    provider_id: str


def taints_of(template: NodeTemplate) -> list[Plain]:
    """Return the taints of a template, as in ``spec.taints``."""
    return [parsed for taint in template.taints if (parsed := _taint_of(taint)) is not None]


def plan_nodes(nodes: NodeSettings) -> list[PlannedNode]:
    """Return the nodes that a setting describes.

    Raises:
        ConfigError: If the setting is invalid.
    """
    templates = _templates(nodes)
    if sum(template.count for template in templates) > MAX_NODES:
        raise ConfigError(f"nodes: a server has at most {MAX_NODES:,} nodes")
    numbers: Counter[str] = Counter()
    planned = [node for template in templates for node in _plan(template, numbers)]
    names = Counter(node.name for node in planned)
    if twice := [name for name, count in names.items() if count > 1]:
        raise ConfigError(f"nodes: two nodes have the name {twice[0]}; give their templates different names")
    return planned


def _templates(nodes: NodeSettings) -> list[NodeTemplate]:
    if isinstance(nodes, int) and not isinstance(nodes, bool):
        if not 0 <= nodes <= MAX_NODES:
            raise ConfigError(f"nodes must be a number from 0 to {MAX_NODES:,}, or a list of templates, not {nodes}")
        # A single node has no zone: there is nothing to spread over.
        zones = _ZONES if nodes > 1 else ()
        return [NodeTemplate(count=nodes, zones=zones, region=_REGION if zones else "")]
    if not _is_list(nodes):
        raise ConfigError(f"nodes must be a number, or a list of templates, not {nodes!r}")
    return [_template_of(item) for item in cast("Sequence[object]", nodes)]


def _template_of(item: object) -> NodeTemplate:
    if isinstance(item, NodeTemplate):
        return item
    if not isinstance(item, Mapping):
        raise ConfigError(f"nodes: a template is a NodeTemplate or a mapping, not {item!r}")
    described = cast("Mapping[str, object]", item)
    if "metadata" in described:
        return _read_manifest(dict(described))
    known = {each.name for each in fields(NodeTemplate)}
    if unknown := [name for name in described if name not in known]:
        raise ConfigError(f"nodes: a template has no field {unknown[0]!r}; there are {', '.join(sorted(known))}")
    return NodeTemplate(**cast("dict[str, Any]", described))


def _read_manifest(manifest: Plain) -> NodeTemplate:
    """Return the template of a Node object, without fields that are specific to the node."""
    # The items of a list that a server sent have no kind.
    if (kind := _kind_of(manifest)) not in _NODES:
        raise ConfigError(f"nodes: a manifest of a node has the kind v1 Node, not {kind}")
    meta, spec, status = (_section(manifest, name) for name in ("metadata", "spec", "status"))
    info = _section(status, "nodeInfo")
    labels = {key: value for key, value in _section(meta, "labels").items() if key != "kubernetes.io/hostname"}
    _require(_is_list(spec.get("taints") or []), "taints", "must be a list", spec.get("taints"))
    # Taints of conditions, such as not-ready, belong to the moment of the dump.
    taints = [taint for taint in items(spec, "taints") if not text(taint, "key").startswith("node.kubernetes.io/")]
    return NodeTemplate(
        name=text(meta, "name") or NODE_NAME,
        labels=labels,
        annotations=_section(meta, "annotations"),
        taints=taints,
        capacity=_section(status, "capacity"),
        allocatable=_section(status, "allocatable"),
        operating_system=text(info, "operatingSystem") or "linux",
        architecture=text(info, "architecture") or "amd64",
        unschedulable=bool(spec.get("unschedulable")),
        provider_id=text(spec, "providerID"),
        info={name: str(value) for name, value in info.items()},
    )


def _kind_of(document: Plain) -> str:
    """Return apiVersion and kind of a document; empty without both."""
    return f"{document.get('apiVersion') or ''} {document.get('kind') or ''}".strip()


def _section(parent: Plain, name: str) -> Plain:
    found: object = parent.get(name)
    _require(isinstance(found, Mapping | None), name, "must be a mapping", found)
    return part(parent, name)


def _plan(template: NodeTemplate, numbers: Counter[str]) -> Iterator[PlannedNode]:
    for index in range(template.count):
        numbers[template.name] += 1
        number = numbers[template.name]
        suffix = f"-{number}" if number > 1 else ""
        zone = template.zones[index % len(template.zones)] if template.zones else ""
        provider_id = f"{template.provider_id}{suffix}" if template.provider_id else ""
        yield PlannedNode(f"{template.name}{suffix}", template, zone, provider_id)


def read_templates(file: Path) -> list[NodeTemplate]:
    """Read templates from a file, in YAML or JSON: mappings as for ``nodes``, lists of them, or manifests of nodes.

    Raises:
        ConfigError: If the file cannot be read, or describes something else.
    """
    from masthead._meta import yaml  # PyYAML takes 10 ms to import
    from masthead.errors import DecodeError

    try:
        documents = yaml.load_all(file.read_bytes())
    except (OSError, DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"cannot read the node templates of {file}: {reason}") from None
    try:
        found = [_template_of(item) for document in documents for item in _expand(document)]
    except ConfigError as error:
        raise ConfigError(f"cannot read the node templates of {file}: {error}") from None
    if not found:
        raise ConfigError(f"cannot read the node templates of {file}: there are none")
    return found


def _expand(document: object) -> Iterator[object]:
    if isinstance(document, list):
        yield from cast("list[object]", document)
    elif isinstance(document, dict) and "items" in document:
        if (kind := _kind_of(cast("Plain", document))) not in _LISTS:
            raise ConfigError(f"nodes: a list of nodes has the kind v1 List or v1 NodeList, not {kind}")
        yield from items(cast("Plain", document), "items")
    elif document is not None:
        yield document


def spread_templates(templates: Sequence[NodeTemplate], count: int) -> list[NodeTemplate]:
    """Return templates for a number of nodes in all, as equally as possible."""
    share, rest = divmod(count, len(templates))
    return [replace(template, count=share + (index < rest)) for index, template in enumerate(templates)]


def _require(is_valid: bool, name: str, problem: str, value: object) -> None:
    if not is_valid:
        raise ConfigError(f"nodes: {name} of a template {problem}, not {value!r}")


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_NODES


def _is_quantity(value: object) -> bool:
    if isinstance(value, bool):
        return False
    try:
        return Quantity(cast("str", value)).sign >= 0
    except (TypeError, ValueError):
        return False


def _taint_of(taint: object) -> Plain | None:
    """Return the object of a taint; None for anything else."""
    if isinstance(taint, Mapping):
        found = dict(cast("Mapping[str, object]", taint))
        is_text = all(isinstance(value, str) for value in found.values())
        return found if is_text and found.get("key") and found.get("effect") in _EFFECTS else None
    if not isinstance(taint, str):
        return None
    label, colon, effect = taint.rpartition(":")
    key, _, value = label.partition("=")
    if not colon or not key or effect not in _EFFECTS:
        return None
    return {"key": key, **({"value": value} if value else {}), "effect": effect}
