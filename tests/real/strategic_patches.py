"""Random strategic merge patches of objects of real kinds, with every directive."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, cast

from masthead._meta import shape
from masthead._meta.quantity import Quantity
from masthead.api.apps.v1 import Deployment
from masthead.api.batch.v1 import CronJob
from masthead.api.core.v1 import ConfigMap, Node, Pod, Secret, Service, ServiceAccount

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from masthead._meta.apitype import ApiType
    from masthead._meta.merge import Merge
    from masthead._meta.object import Object

Plain = dict[str, Any]

_CONTAINER: Plain = {
    "name": "a",
    "image": "i",
    "env": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}, {"name": "c", "value": "3"}],
    "ports": [{"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "b"}],
    "volumeMounts": [{"name": "a", "mountPath": "/a"}, {"name": "b", "mountPath": "/b"}],
    "args": ["x", "y"],
    "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}},
}
_POD: Plain = {
    "containers": [_CONTAINER, {"name": "b", "image": "j"}, {"name": "c", "image": "k"}],
    "initContainers": [{"name": "d", "image": "l"}],
    "volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "emptyDir": {}}, {"name": "c", "emptyDir": {}}],
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "hostAliases": [{"ip": "1.1.1.1", "hostnames": ["a"]}, {"ip": "2.2.2.2", "hostnames": ["b"]}],
    "imagePullSecrets": [{"name": "a"}, {"name": "b"}],
    "nodeSelector": {"a": "1", "b": "2"},
}
_META: Plain = {
    "labels": {"a": "1", "b": "2"},
    "annotations": {"a": "1"},
    "finalizers": ["a.io/a", "b.io/b", "c.io/c"],
    "ownerReferences": [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u-a"},
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "b", "uid": "u-b"},
    ],
}
_TEMPLATE: Plain = {"metadata": {"labels": {"a": "1"}}, "spec": _POD}

OBJECTS: tuple[tuple[type[Object], Plain, str], ...] = (
    (
        Deployment,
        {"metadata": _META, "spec": {"selector": {"matchLabels": {"a": "1"}}, "template": _TEMPLATE}},
        "",
    ),
    (
        CronJob,
        {
            "metadata": _META,
            "spec": {
                "schedule": "1 * * * *",
                "jobTemplate": {"spec": {"template": {"spec": {**_POD, "restartPolicy": "Never"}, "metadata": {}}}},
            },
        },
        "",
    ),
    (Pod, {"metadata": _META, "spec": _POD}, "status"),
    (
        Service,
        {
            "metadata": _META,
            "spec": {
                "selector": {"a": "1"},
                "ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}, {"port": 82, "name": "c"}],
            },
        },
        "",
    ),
    (
        ServiceAccount,
        {
            "metadata": _META,
            "secrets": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
            "imagePullSecrets": [{"name": "a"}, {"name": "b"}],
        },
        "",
    ),
    (ConfigMap, {"metadata": _META, "data": {"a": "1", "b": "2"}, "binaryData": {"c": "YQ=="}}, ""),
    (Secret, {"metadata": _META, "data": {"a": "YQ=="}}, ""),
    (
        Node,
        {
            "metadata": _META,
            "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}], "podCIDRs": ["10.0.0.0/24"]},
        },
        "status",
    ),
)
"""The classes, the objects without a name, and a subresource that is patched as well."""

_STRINGS: Mapping[str, tuple[str, ...]] = {
    "name": ("a", "b", "c", "d", "e"),
    "mountPath": ("/a", "/b", "/c", "/d"),
    "ip": ("1.1.1.1", "2.2.2.2", "3.3.3.3"),
    "type": ("a", "b", "Ready"),
    "uid": ("u-a", "u-b", "u-c"),
    "protocol": ("TCP", "UDP"),
    "finalizers": ("a.io/a", "b.io/b", "c.io/c", "d.io/d", "e.io/e"),
    "key": ("a", "b", "c"),
    "status": ("True", "False"),
    "restartPolicy": ("Always", "Never"),
    "kind": ("ConfigMap", "Secret"),
    "apiVersion": ("v1",),
    "topologyKey": ("a", "b"),
    "image": ("i", "j"),
}
_NUMBERS: Mapping[str, tuple[int, ...]] = {
    "containerPort": (80, 81, 82, 83),
    "port": (80, 81, 82, 83),
    "replicas": (0, 1, 2),
}
_ODD: tuple[Any, ...] = (
    None,
    1,
    1.5,
    2.0,
    "x",
    True,
    [],
    {},
    [1],
    ["x"],
    [None],
    {"a": 1},
    [{}],
    [{"name": "z"}],
)
_DIRECTIVES: tuple[Any, ...] = ("replace", "delete", "delete", "merge", "other", 1)
_LONGEST = 3
_NOT_PATCHED = (
    "managedFields",
    "selfLink",
    "podCIDRs",
    "externalID",
    "declaredFeatures",
    "configSource",
    "clusterIPs",
    "nodeAllocatableResourceClaimStatuses",
)
"""Fields that the embedded server does not have, or does not treat as a real one for other reasons."""


class PatchGenerator:
    """Makes patches.

    Args:
        random: Where the choices come from.
        oddness: How often something stands where it does not belong.
    """

    def __init__(self, random: Random, oddness: float = 0.02) -> None:
        self._random = random
        self._oddness = oddness

    def patch(self, cls: type[Object], current: Plain) -> Plain:
        """Make a patch of an object."""
        return self._struct(cast("ApiType", cls), current, 6)

    def _chance(self, part: float) -> bool:
        return self._random.random() < part

    def _struct(self, cls: ApiType, current: object, depth: int) -> Plain:
        fields = shape.fields_of(cls)
        merges: Mapping[str, Merge] = getattr(cls, "MERGE", {})
        names = [key for key in fields if key not in {"apiVersion", "kind", *_NOT_PATCHED}]
        present = [key for key in names if key in cast("Plain", current)] if isinstance(current, dict) else []
        chosen = {self._random.choice(present if present and self._chance(0.85) else names) for _ in range(3)}
        patch: Plain = {}
        for key in sorted(chosen):
            found = cast("Plain", current).get(key) if present else None
            patch[key] = self._value(fields[key].shape, found, key, merges.get(key), depth)
            if isinstance(fields[key].shape, shape.ListShape):
                self._add_list_directives(patch, key, found, merges.get(key))
        if self._chance(0.04):
            patch["$retainKeys"] = self._random.sample([*chosen, *present], self._random.randint(0, len(chosen)))
        if self._chance(0.04):
            patch["$patch"] = self._random.choice(_DIRECTIVES)
        if self._chance(self._oddness):
            patch[self._random.choice(["foo", "$setElementOrder/foo", "$deleteFromPrimitiveList", "Name"])] = (
                self._random.choice(_ODD)
            )
        return patch

    def _value(self, described: shape.Shape, current: object, name: str, merge: Merge | None, depth: int) -> Any:
        if self._chance(self._oddness):
            return self._random.choice(_ODD)
        if self._chance(0.08):
            return None
        match described:
            case shape.StructShape():
                return self._struct(described.cls, current, depth - 1) if depth > 0 else {}
            case shape.ListShape():
                return self._list(described.item, current, name, merge, depth)
            case shape.MapShape():
                return self._map(described.value, current, name, depth)
            case shape.NullableShape():
                return self._value(described.shape, current, name, merge, depth)
            case shape.ScalarShape():
                return self._scalar(described, name)
            case _:
                return {"a": 1}

    def _list(self, item: shape.Shape, current: object, name: str, merge: Merge | None, depth: int) -> list[Any]:
        present = current if isinstance(current, list) else []
        made: list[Any] = []
        key = merge.merge_key if merge else ""
        for _ in range(self._random.randint(0, _LONGEST)):
            old = self._random.choice(present) if present and self._chance(0.6) else None
            each = self._value(item, old, name, None, depth)
            if isinstance(each, dict) and key:
                if isinstance(old, dict) and key in old:
                    each[key] = old[key]
                elif not self._chance(self._oddness):
                    each[key] = self._key(key)
                if self._chance(0.2):
                    each["$patch"] = self._random.choice(_DIRECTIVES if self._chance(0.2) else ("delete",))
            made.append(each)
        if key and self._chance(0.05):
            made.insert(0, {"$patch": "replace"})
        return made

    def _key(self, key: str) -> object:
        return self._random.choice(_NUMBERS.get(key) or _STRINGS.get(key) or ("a", "b"))

    def _add_list_directives(self, patch: Plain, key: str, current: object, merge: Merge | None) -> None:
        mine = patch[key] if isinstance(patch[key], list) else []
        present = current if isinstance(current, list) else []
        merge_key = merge.merge_key if merge else ""
        if self._chance(0.35 if merge and "merge" in merge.strategy else 0.02):
            patch[f"$setElementOrder/{key}"] = self._order(mine, present, merge_key)
            if self._chance(0.2):
                del patch[key]
        if not merge_key and self._chance(0.2):
            patch[f"$deleteFromPrimitiveList/{key}"] = self._random.sample(
                [*present, *mine], self._random.randint(0, len(present))
            )
            # With both, kube-apiserver's result depends on chance.
            patch.pop(key, None)

    def _order(self, mine: list[Any], present: list[Any], merge_key: str) -> list[Any]:
        """Make an order that mostly agrees with the patch."""
        items = [each for each in mine if not (isinstance(each, dict) and each.get("$patch"))]
        for each in present:
            if self._chance(0.5) and each not in items:
                items.insert(self._random.randint(0, len(items)), each)
        if self._chance(0.1):
            self._random.shuffle(items)
        if not merge_key:
            return items
        made: list[Any] = []
        for item in items:
            if isinstance(item, dict) and merge_key in item:
                found = {merge_key: item[merge_key]}
                if found not in made or self._chance(0.1):
                    made.append(found)
        return made

    def _map(self, value: shape.Shape, current: object, name: str, depth: int) -> Plain:
        present = list(cast("Plain", current)) if isinstance(current, dict) else []
        keys = [*present, "a", "b", "d"]
        if name in {"limits", "requests", "capacity", "allocatable"}:
            keys = [*present, "cpu", "memory"]
        made = {self._random.choice(keys): self._value(value, None, name, None, depth) for _ in range(2)}
        if self._chance(0.05):
            made["$patch"] = self._random.choice(_DIRECTIVES)
        return made

    def _scalar(self, described: shape.ScalarShape, name: str) -> object:
        exact = described.exact
        if Quantity in exact:
            return self._random.choice(("1", "500m", 2))
        if bytes in exact:
            return self._random.choice(("YQ==", ""))
        if bool in exact:
            return self._chance(0.5)
        if str in exact:
            return self._random.choice(_STRINGS.get(name, ("a", "b", "")))
        if int in exact or float in exact:
            return self._random.choice(_NUMBERS.get(name, (0, 1, 2, 30)))
        return "2026-01-01T00:00:00Z"


@functools.cache
def path_of(cls: type[Object], namespace: str) -> str:
    """The path of the objects of a class."""
    resource = cls.RESOURCE
    assert resource is not None
    scope = f"/namespaces/{namespace}" if resource.namespaced else ""
    return f"{cls.GVK.group_version.path}{scope}/{resource.name}"
