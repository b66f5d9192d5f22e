"""Random values of the fields of built-in kinds: of the right type, and often valid.

Two fields that exclude each other meet in some of the objects, and numbers are above their limits in others. The values
come from the fields' schemas in OpenAPI, with a few texts and numbers that rules of some field are about.
"""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

import msgspec

from masthead_server.openapi.service import OpenApiService
from masthead_server.resources.catalog import Catalog

if TYPE_CHECKING:
    from random import Random

    from tests.conformance.cases.minimal import Minimal

Plain = dict[str, Any]

MAX_DEPTH: Final = 12
KNOWN: Final[dict[str, tuple[object, ...]]] = {
    "apiGroup": ("apps", "", "rbac.authorization.k8s.io"),
    "claimName": ("v", "c"),
    "devicePath": ("/m", "/d", "/x/../y"),
    "divisor": ("1", "1m", "1Mi", "3", "0"),
    "fieldPath": ("metadata.name", "metadata.labels['a']", "spec.nodeName", "x"),
    "image": ("image",),
    "key": ("a", "app", "kubernetes.io/hostname", "A_b/c d"),
    "labelSelector": (
        {"matchLabels": {"app": "a"}},
        {},
        {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
    ),
    "matchLabelKeys": (["a"], ["app"], ["A b"]),
    "mismatchLabelKeys": (["a"], ["app"], ["A b"]),
    "mountPath": ("/m", "/n", "/d"),
    "name": ("v", "c", "main", "a", "default", "A b"),
    "path": ("p", "/d", "a/../b", "..x", "q"),
    "resource": ("limits.cpu", "requests.memory", "limits.hugepages-2Mi", "x"),
    "topologyKey": ("a", "kubernetes.io/hostname", ""),
    "volumeName": ("v", "c"),
}
"""What fields of a name often have, so that they refer to each other."""
TEXTS: Final = (
    *("a", "a", "b", "v", "a.example.com", "A b", "", "1", "x/y", "..", "/abs", "10.0.0.1"),
    "iqn.2001-04.com.example:a",
)
NUMBERS: Final = (0, 1, 1, 2, 3, 5, -1, 300, 80, 70_000, 100_001, 3600, 2**31 - 1)
AMOUNTS: Final = ("1", "2", "1Gi", "100m", "0", "-1", "1.5")
RESOURCES: Final = ("cpu", "memory", "ephemeral-storage", "storage", "hugepages-2Mi", "example.com/x")
NOT_SENT: Final = frozenset(
    {
        *("managedFields", "apiVersion", "kind", "status", "uid", "resourceVersion", "creationTimestamp"),
        *("deletionTimestamp", "deletionGracePeriodSeconds", "ephemeralContainers", "generateName", "namespace"),
        *("selfLink", "generation", "ownerReferences", "finalizers"),
        # Allocated addresses and ports depend on the state of the server.
        *("clusterIP", "clusterIPs", "nodePort", "healthCheckNodePort"),
    }
)
_documents: Final[dict[str, Plain]] = {}


def schemas_of(api_version: str) -> Plain:
    """The schemas of a group version."""
    if api_version not in _documents:
        document = OpenApiService(Catalog.builtin()).get(f"apis/{api_version}" if "/" in api_version else "api/v1")
        assert document is not None
        _documents[api_version] = msgspec.json.decode(document.body)["components"]["schemas"]
    return _documents[api_version]


class RandomValues:
    """Makes objects of one kind.

    Args:
        minimal: A valid object of it.
        random: Where the choices come from.
    """

    def __init__(self, minimal: Minimal, random: Random) -> None:
        self.minimal = minimal
        self._random = random
        self._schemas = schemas_of(minimal.api_version)
        group, _, version = minimal.api_version.rpartition("/")
        gvk = {"group": group, "version": version, "kind": minimal.kind}
        self._root = next(
            schema for schema in self._schemas.values() if gvk in schema.get("x-kubernetes-group-version-kind", [])
        )

    def body(self, name: str) -> Plain:
        """Return an object in which a few fields have random values."""
        version, kind = self.minimal.api_version, self.minimal.kind
        metadata = {"name": name, "labels": {"app": "a"}}
        body = {"apiVersion": version, "kind": kind, "metadata": metadata, **deepcopy(self.minimal.fields)}
        # Metadata has the same rules in all kinds, and other tests.
        properties = {name: schema for name, schema in self._root["properties"].items() if name != "metadata"}
        random = self._random
        for _ in range(random.choice((1, 2, 3)) if properties else 0):
            self._add(body, {"properties": properties}, 0, 1)
        return body

    def _resolve(self, schema: Plain) -> Plain:
        if len(schema.get("allOf", ())) == 1:
            return self._resolve(schema["allOf"][0])
        if "$ref" in schema:
            return self._resolve(self._schemas[schema["$ref"].rpartition("/")[2]])
        return schema

    def _add(self, owner: Plain, schema: Plain, depth: int, count: int) -> None:
        """Set random fields of an object, or of an object within it."""
        random = self._random
        names = [name for name in schema["properties"] if name not in NOT_SENT]
        for _ in range(count if names else 0):
            name = random.choice(names)
            inner, value = self._resolve(schema["properties"][name]), owner.get(name)
            if isinstance(value, dict) and "properties" in inner:
                self._add(value, inner, depth + 1, random.choice((1, 1, 2)))
            elif isinstance(value, list) and value and isinstance(value[0], dict) and random.random() < 0.8:
                self._add(random.choice(value), self._resolve(inner["items"]), depth + 1, random.choice((1, 1, 2)))
            elif isinstance(value, dict) or value is None or random.random() < 0.5:
                owner[name] = self._value(schema["properties"][name], name, depth + 1)

    def _value(self, schema: Plain, name: str, depth: int) -> Any:
        random, is_amount = self._random, "Quantity" in str(schema)
        schema = self._resolve(schema)
        kind = schema.get("type")
        if name in KNOWN and random.random() < 0.7:
            return deepcopy(random.choice(KNOWN[name]))
        if kind == "array":
            return [self._value(schema["items"], name, depth + 1) for _ in range(random.choice((1, 1, 1, 2, 2, 3)))]
        if kind == "object":
            return self._object(schema, depth, is_amount=is_amount)
        return random.choice(AMOUNTS) if is_amount else self._scalar(schema)

    def _object(self, schema: Plain, depth: int, *, is_amount: bool) -> Plain:
        random, made = self._random, dict[str, Any]()
        if "properties" in schema:
            for name in schema.get("required", ()):
                if random.random() < 0.95:
                    made[name] = self._value(schema["properties"][name], name, depth + 1)
            if depth < MAX_DEPTH:
                self._add(made, schema, depth, random.choice((0, 1, 1, 2, 3)))
        elif "additionalProperties" in schema:
            for _ in range(random.choice((1, 1, 2))):
                key = random.choice(RESOURCES if is_amount else ("a", "app", "A b"))
                made[key] = self._value(schema["additionalProperties"], "", depth + 1)
        return made

    def _scalar(self, schema: Plain) -> object:
        random = self._random
        if schema.get("enum"):
            return random.choice(schema["enum"]) if random.random() < 0.93 else "x"
        if "oneOf" in schema:
            return random.choice((1, 0, "a", "50%", -1))
        if schema.get("type") == "boolean":
            return random.random() < 0.6
        if schema.get("type") in {"integer", "number"}:
            return random.choice(NUMBERS)
        formats = {"date-time": "2001-02-03T04:05:06Z", "byte": "YQ=="}
        return formats.get(schema.get("format", "")) or random.choice(TEXTS)
