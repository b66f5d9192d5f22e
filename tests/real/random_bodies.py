"""Random bodies of built-in kinds: nulls, values of the wrong type, unknown fields and duplicate keys in valid objects.

They are made from the minimal objects of the conformance cases and the fields of the generated classes.
"""

from __future__ import annotations

import json
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final, cast

from tests.conformance.cases.minimal import EVERYTHING, Minimal

from masthead._meta.gvk import GroupVersion
from masthead_server import scheme
from masthead_server.resources.go_decoder import GoList, GoMap, GoStruct, decoder_of
from masthead_server.resources.go_values import Scalar

if TYPE_CHECKING:
    from random import Random

    from masthead._meta.apitype import ApiType
    from masthead_server.resources.go_values import GoValue

Plain = dict[str, Any]

VALUES: Final[tuple[object, ...]] = (
    *("", "a", "A", "a-b", "Always", "1", "1Gi", "2001-01-01T00:00:00Z", "YQ==", "a.example.com/b"),
    *(0, 1, -1, 80, 2**31, 2**40, 1.5, 1e3),
    *(True, False, [], {}, [None], ["a"], [1], [{}], {"a": None}, {"a": "b"}, {"a": 1}, {"a": {}}),
)
MAX_DEPTH: Final = 9


class RandomBodies:
    """Makes bodies for one kind.

    Args:
        minimal: A valid object of it.
        random: Where the choices come from.
    """

    def __init__(self, minimal: Minimal, random: Random) -> None:
        self.minimal = minimal
        self._random = random
        group, _, version = minimal.api_version.rpartition("/")
        cls = scheme.object_class(GroupVersion(group, version).kind(minimal.kind))
        self._root = decoder_of(cast("ApiType", cls)).root

    def valid(self, name: str) -> Plain:
        """Return the valid object."""
        version, kind = self.minimal.api_version, self.minimal.kind
        fields = deepcopy(self.minimal.fields)
        return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}

    def broken(self, name: str) -> str:
        """Return the JSON of an object in which one to three places are changed."""
        body = self.valid(name)
        for _ in range(self._random.choice((1, 1, 2, 3))):
            self._change(body, self._root, depth=0)
        text = json.dumps(body)
        return self._repeat(text) if self._random.random() < 0.2 else text

    def patch(self) -> Plain:
        """Return a merge patch that changes one place."""
        body: Plain = {}
        self._change(body, self._root, depth=0)
        return {key: value for key, value in body.items() if key not in {"apiVersion", "kind"}}

    def _change(self, owner: Plain, struct: GoStruct, depth: int) -> None:
        """Change something in an object, most often in one of its fields."""
        random = self._random
        if random.random() < 0.08:
            owner[random.choice(("unknown", "other", "Name"))] = self._any()
            return
        names = [name for name in struct.fields if depth or name not in {"apiVersion", "kind", "status"}]
        name = random.choice(names)
        owner[name] = self._changed(struct.fields[name], owner.get(name), depth + 1)

    def _changed(self, type_: GoValue, value: object, depth: int) -> object:
        random = self._random
        if depth > MAX_DEPTH or random.random() < 0.12:
            return self._any()
        if isinstance(type_, GoStruct) and type_.fields:
            made = value if isinstance(value, dict) else {}
            self._change(made, type_, depth)
            return made
        if isinstance(type_, GoList):
            items = list(value) if isinstance(value, list) else []
            index = random.randrange(len(items) + 1)
            items[index : index + 1] = [self._changed(type_.item, items[index] if index < len(items) else None, depth)]
            return items
        if isinstance(type_, GoMap):
            entries = dict(value) if isinstance(value, dict) else {}
            entries[random.choice(("a", "cpu", "memory", "storage", ""))] = self._changed(type_.item, None, depth)
            return entries
        if isinstance(type_, Scalar) and random.random() < 0.5:
            return random.choice([each for each in VALUES if type(each) is type(type_.zero)])
        return self._any()

    def _any(self) -> object:
        return deepcopy(self._random.choice((None, *VALUES)))

    def _repeat(self, text: str) -> str:
        """Write a random key of an object twice."""
        pairs = json.loads(text)
        places: list[Plain] = []
        _collect(pairs, places)
        place = self._random.choice(places)
        key = self._random.choice(list(place))
        # A key that no object has takes its place in the text.
        place["\x00"] = self._random.choice((self._any(), deepcopy(place[key])))
        return json.dumps(pairs).replace('"\\u0000"', json.dumps(key), 1)


def _collect(value: object, into: list[Plain]) -> None:
    if isinstance(value, dict):
        if value:
            into.append(value)
        for each in value.values():
            _collect(each, into)
    elif isinstance(value, list):
        for each in value:
            _collect(each, into)


STORED: Final = [each for each in EVERYTHING if not each.without_name]
"""The kinds that are stored."""
