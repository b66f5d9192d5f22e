"""States made comparable: what differs between two equal runs is dropped, or replaced by what it means."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from masthead.testing._explore.names import Names
    from masthead.testing._explore.trace import ChangeRecord, RunResult

__all__ = [
    "DERIVED",
    "EDITED",
    "CanonicalObject",
    "CanonicalState",
    "Meanings",
    "Value",
    "canonicalize",
    "is_builtin",
    "replicas_of",
    "simplify",
    "sort_text",
]

Value: TypeAlias = "dict[str, Value] | list[Value] | str | int | float | bool | None"
"""JSON data."""

EDITED: Final = "explore.masthead.dev/edited"
"""The annotation of another client: the fault `Edit`."""
DERIVED: Final = frozenset({"pods", "replicasets.apps", "jobs.batch"})
"""Resources whose objects, if a built-in controller makes them, follow from the objects of others."""
_CLAIMS: Final = "persistentvolumeclaims"
# Leases, events and endpoints depend on time and pods, not on decisions of the operator.
_UNCOMPARED: Final = frozenset(
    {
        "leases.coordination.k8s.io",
        "events",
        "events.events.k8s.io",
        "endpoints",
        "endpointslices.discovery.k8s.io",
        "controllerrevisions.apps",
    }
)
_BUILTIN_GROUPS: Final = frozenset({"", "apps", "autoscaling", "batch", "policy", "extensions"})
_METADATA: Final = ("labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp")
# Faults may lengthen the history of rollouts and volume bindings without harm.
_HISTORY_ANNOTATIONS: Final = (
    EDITED,
    "deployment.kubernetes.io/",
    "pv.kubernetes.io/",
    "volume.kubernetes.io/",
    "volume.beta.kubernetes.io/",
)
# Hashes repeat differences of other fields, and uids differ in every run.
_HASH_LABELS: Final = frozenset({"pod-template-hash", "controller-revision-hash", "controller-uid"})
_PROGRAM: Final = ("name", "image", "command", "args", "env")
_ALLOCATED: Final = frozenset({"clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort"})
# The fake of an external system may contain cycles.
_MAX_DEPTH: Final = 20
# In this order: ports may lack a name, and then their number identifies them.
_LIST_KEYS: Final = ("name", "type", "key", "mountPath", "containerPort", "port")

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?")
_UID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# No digits or dots around it, because the version 1.2.3.4.5 contains no address.
_ADDRESS: Final = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")
_NAME: Final = re.compile(r"[a-z0-9][-a-z0-9]*[a-z0-9]")
_GENERATION: Final = re.compile(r"generation$", re.IGNORECASE)
_DURATION: Final = re.compile(r"(seconds|duration|elapsed|uptime|age|latency|millis|milliseconds)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CanonicalObject:
    """An object without what differs between equal runs.

    Attributes:
        resource: The resource, such as ``deployments.apps``.
        key: The key that the object has in all runs.
        actual_key: The key in this run.
        uid: The uid in this run.
        content: The comparable content.
        is_derived: Whether a built-in controller made it, so that only some fields matter.
        is_touched: Whether the user or the operator wrote it.
        is_deleting: Whether it has a deletion timestamp.
        owners: The uids of the owners.
    """

    resource: str
    key: str
    actual_key: str
    uid: str
    content: dict[str, Value]
    is_derived: bool = False
    is_touched: bool = True
    is_deleting: bool = False
    owners: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.resource} {self.actual_key}"


@dataclass(frozen=True, slots=True)
class CanonicalState:
    """Comparable objects, by resource and key; several only if their names differ between runs.

    Attributes:
        objects: The objects.
        versions: Objects by their present resource versions.
    """

    objects: Mapping[tuple[str, str], Sequence[CanonicalObject]] = field(
        default_factory=dict[tuple[str, str], "Sequence[CanonicalObject]"]
    )
    versions: Mapping[str, str] = field(default_factory=dict[str, str])

    def __iter__(self) -> Iterator[CanonicalObject]:
        for group in self.objects.values():
            yield from group


class Meanings:
    """Replaces uids, addresses, generated names, versions and times in texts by their meanings.

    Args:
        objects: The objects at the moment, by resource and key.
        changes: The changes up to the moment.
        names: The names that differ between runs.
    """

    def __init__(self, objects: Mapping[str, Mapping[str, Any]], changes: Iterable[ChangeRecord], names: Names) -> None:
        self._names = names
        self._uids: dict[str, str] = {}
        self._living: set[str] = set()
        self._addresses: dict[str, str] = {}
        self.versions: dict[str, str] = {}
        self._generated: dict[str, str] = {}
        # Changes first: they know deleted objects, whose uids may still be in use.
        for change in changes:
            self._uids[change.uid] = f"{change.resource} {names.key_of(change.resource, change.key)}"
            self._note_name(change.resource, change.key)
        for resource, members in objects.items():
            for key, plain in members.items():
                self._note(resource, key, plain)

    def _note(self, resource: str, key: str, plain: Mapping[str, Any]) -> None:
        metadata: Mapping[str, Any] = plain.get("metadata") or {}
        text = f"{resource} {self._names.key_of(resource, key)}"
        if uid := metadata.get("uid"):
            self._uids[uid] = text
            self._living.add(uid)
        if version := metadata.get("resourceVersion"):
            self.versions[str(version)] = text
        for address in _addresses_of(resource, plain):
            self._addresses[address] = text
        self._note_name(resource, key)

    def _note_name(self, resource: str, key: str) -> None:
        common = self._names.key_of(resource, key)
        # Texts mention objects by name, without a namespace.
        if common != key:
            self._generated[key.rpartition("/")[2]] = common.rpartition("/")[2]

    def is_living(self, uid: str) -> bool:
        """Whether an object has this uid."""
        return uid in self._living

    def describe_uid(self, uid: str) -> str:
        """Return what a uid means."""
        what = self._uids.get(uid)
        if what is None:
            # An unknown uid may be random data, which masks cover.
            return uid
        return f"<uid of {what}>" if uid in self._living else f"<uid of the deleted {what}>"

    def replace_in(self, text: str) -> str:
        """Return a text with meanings instead of values that differ between runs."""
        # Shorter texts contain none of these.
        if len(text) < 3:
            return text
        # Names before uids: the meaning of a uid contains words that could match a generated name.
        if self._generated:
            text = _NAME.sub(lambda match: self._generated.get(match[0], match[0]), text)
        # The shortest address has seven characters.
        if len(text) >= 7:
            text = _UID.sub(lambda match: self.describe_uid(match[0]), text)
            text = _TIME.sub("<time>", text)
            text = _ADDRESS.sub(self._replace_address, text)
        return text

    def _replace_address(self, match: re.Match[str]) -> str:
        what = self._addresses.get(match[0])
        # An unknown address is a setting of the user or the operator.
        return f"<address of {what}>" if what else match[0]


def canonicalize(
    objects: Mapping[str, Mapping[str, Any]], changes: Sequence[ChangeRecord], names: Names, replicas: frozenset[str]
) -> CanonicalState:
    """Return the comparable state of a cluster.

    Only objects that the user or the operator wrote count, and volume claims. Of what built-in controllers made for
    them, labels, annotations, finalizers and programs remain.

    Args:
        objects: The objects, by resource and key.
        changes: All changes that led to them.
        names: The names that differ between runs.
        replicas: The clients that belong to the operator.
    """
    meanings = Meanings(objects, changes, names)
    creators = {change.uid: change.client for change in changes if change.type == "ADDED"}
    authors = replicas | {"user"}
    touched = {change.uid for change in changes if change.client in authors}
    state: dict[tuple[str, str], list[CanonicalObject]] = {}
    for resource, members in objects.items():
        # Their contents follow from time and from other objects.
        if resource in _UNCOMPARED:
            continue
        for key, plain in members.items():
            uid = plain["metadata"].get("uid", "")
            is_touched = uid in touched
            # Objects without a known creator, from before the first step, are not derived.
            is_derived = resource in DERIVED and creators.get(uid, "") not in authors | {""}
            # Volume claims outlive their StatefulSet: a surplus or missing claim costs space or data.
            if not (is_touched or is_derived or (resource == _CLAIMS and uid in creators)):
                continue
            common = names.key_of(resource, key)
            content = _content_of(resource, plain, meanings, is_derived=is_derived)
            item = CanonicalObject(
                resource,
                common,
                key,
                uid,
                content,
                is_derived=is_derived,
                is_touched=is_touched,
                is_deleting=bool(plain["metadata"].get("deletionTimestamp")),
                owners=tuple(str(owner.get("uid")) for owner in plain["metadata"].get("ownerReferences") or ()),
            )
            state.setdefault((resource, common), []).append(item)
    # Objects with generated names are paired by their contents.
    for group in state.values():
        group.sort(key=lambda item: sort_text(item.content))
    return CanonicalState(state, meanings.versions)


def simplify(value: object, meanings: Meanings) -> Value:
    """Return comparable data, such as the state of an external system."""
    return _Section(meanings, 0).simplify(_plain(value), "")


def _plain(value: object, depth: int = 0) -> Value:
    """Return any value of Python as JSON data."""
    if value is None or isinstance(value, str | int | float):
        return value
    # Bytes have no JSON, and not all of them are text.
    if isinstance(value, bytes):
        return value.hex()
    # The fake may refer to itself.
    if depth > _MAX_DEPTH:
        return type(value).__name__
    if isinstance(value, Mapping):
        members = cast("Mapping[object, object]", value)
        return {str(key): _plain(member, depth + 1) for key, member in members.items()}
    if isinstance(value, list | tuple | set | frozenset | deque):
        return [_plain(member, depth + 1) for member in cast("Iterable[object]", value)]
    # An address in a representation would differ in each run.
    return _plain(getattr(value, "__dict__", None) or type(value).__name__, depth + 1)


def replicas_of(result: RunResult) -> frozenset[str]:
    """Return the names of the operator's replicas in a run."""
    names = {write.replica for write in result.writes} | {entry.replica for entry in result.entries if entry.replica}
    return frozenset(names | {change.client for change in result.changes if change.reconcile}) - {""}


def is_builtin(resource: str) -> bool:
    """Whether a resource belongs to Kubernetes."""
    group = resource.partition(".")[2]
    return group in _BUILTIN_GROUPS or group.endswith(".k8s.io")


def _content_of(resource: str, plain: Mapping[str, Any], meanings: Meanings, *, is_derived: bool) -> dict[str, Value]:
    metadata = _metadata_of(plain["metadata"], meanings, is_derived=is_derived)
    content: dict[str, Value] = {"metadata": metadata} if metadata else {}
    # Its other fields are defaults, and the work of controllers that are not under test.
    if is_derived:
        return content | _programs_of(resource, plain, meanings)
    generation = plain["metadata"].get("generation", 0)
    builtin = is_builtin(resource)
    for name, section in plain.items():
        # The status of a built-in kind follows from its spec, and from the history of its pods.
        if name in {"apiVersion", "kind", "metadata"} or (name == "status" and builtin):
            continue
        rules = _Section(meanings, generation, is_service=resource == "services", is_status=name == "status")
        value = rules.simplify(section, name)
        if value is not None:
            content[name] = value
    return content


def _programs_of(resource: str, plain: Mapping[str, Any], meanings: Meanings) -> dict[str, Value]:
    """Return the programs of a pod: without a replacement, it still runs the old ones."""
    spec: Mapping[str, Any] = plain.get("spec") or {}
    containers: Sequence[Mapping[str, Any]] = spec.get("containers") or ()
    if resource != "pods" or not containers:
        return {}
    programs: list[Value] = [
        {name: container[name] for name in _PROGRAM if name in container} for container in containers
    ]
    return {"containers": _Section(meanings, 0).simplify(programs, "")}


def _metadata_of(metadata: Mapping[str, Any], meanings: Meanings, *, is_derived: bool) -> dict[str, Value]:
    kept = {name: metadata[name] for name in _METADATA if metadata.get(name)}
    if "annotations" in kept:
        annotations: dict[str, str] = kept["annotations"]
        kept["annotations"] = {
            name: text for name, text in annotations.items() if not name.startswith(_HISTORY_ANNOTATIONS)
        }
    # Owners such as ReplicaSets have hashes in their names.
    if is_derived:
        kept.pop("ownerReferences", None)
        labels: dict[str, str] = kept.get("labels", {})
        kept["labels"] = {name: text for name, text in labels.items() if name not in _HASH_LABELS}
    value = _Section(meanings, 0).simplify(kept, "metadata")
    return value if isinstance(value, dict) else {}


class _Section:
    """Simplifies a section of an object.

    Args:
        meanings: The meanings of uids and names.
        generation: The generation of the object.
        is_service: Whether it is a Service, with allocated addresses and ports.
        is_status: Whether it is the status, which may contain durations.
    """

    def __init__(
        self, meanings: Meanings, generation: int, *, is_service: bool = False, is_status: bool = False
    ) -> None:
        self._meanings = meanings
        self._generation = generation
        self._is_service = is_service
        self._is_status = is_status

    def simplify(self, value: Value, name: str) -> Value:
        """Return a comparable value; None for an empty one.

        Args:
            value: The value.
            name: The name of its field.
        """
        if isinstance(value, str):
            # A headless service is another service; which address a service has does not matter.
            if self._is_service and name == "clusterIP" and value != "None":
                return "<allocated>"
            return self._meanings.replace_in(value)
        if isinstance(value, dict):
            simple = {key: self._field(key, member) for key, member in value.items()}
            # Clients write empty and absent fields interchangeably.
            return {key: member for key, member in simple.items() if member is not None} or None
        if isinstance(value, list):
            return self._simplify_list(value, name)
        return value

    def _field(self, name: str, value: Value) -> Value:
        # Generations count writes; whether the status is current is the fact.
        if name == "observedGeneration":
            return "current" if value == self._generation else "older"
        # Operators copy generations into labels and annotations, too.
        if _GENERATION.search(name) and str(value).isdigit():
            return "<generation>"
        # In a spec, a duration is a setting.
        if self._is_status and _DURATION.search(name) and isinstance(value, str | int | float):
            return "<duration>"
        if self._is_service and name in _ALLOCATED and name != "clusterIP":
            return "<allocated>" if value != ["None"] else None
        return self.simplify(value, name)

    def _simplify_list(self, values: list[Value], name: str) -> Value:
        """Return a list in canonical order, or a dict of its members by name."""
        simple = [member for value in values if (member := self.simplify(value, name)) is not None]
        # With a key, a difference names the member instead of its place.
        for key in _LIST_KEYS:
            members = {str(member[key]): member for member in simple if isinstance(member, dict) and key in member}
            # A key that two members share would hide one of them.
            if members and len(members) == len(simple):
                return {f"[{member}]": value for member, value in members.items()}
        # An order by arrival may differ between two correct runs.
        return sorted(simple, key=sort_text) or None


def sort_text(value: Value) -> str:
    """Return a text by which values can be sorted."""
    return json.dumps(value, sort_keys=True)


def _addresses_of(resource: str, plain: Mapping[str, Any]) -> list[str]:
    if resource == "services":
        spec: Mapping[str, Any] = plain.get("spec") or {}
        addresses: Sequence[object] = spec.get("clusterIPs") or ()
        return [str(address) for address in addresses if address != "None"]
    if resource == "pods":
        status: Mapping[str, Any] = plain.get("status") or {}
        return [str(status["podIP"])] if status.get("podIP") else []
    return []
