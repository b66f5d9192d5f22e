"""The states of a custom resource: what its schema allows, and a first state to begin with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from masthead._meta.gvk import GroupVersionResource
from masthead._meta.object import Object
from masthead._schema.defaulting import apply_defaults, copy_json
from masthead._schema.object_validation import validate_object
from masthead._schema.schema import Json, Schema, is_object
from masthead.errors import ArgumentError
from masthead.testing._explore.generation.state_changes import UNMANAGED, find_changes, format_path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from masthead.testing._explore.generation.value_generation import ValueGenerator

__all__ = ["ObjectStates", "State", "read_definition"]

State = dict[str, Json]
"""The fields of an object that users set: all but apiVersion, kind, metadata and status."""
_MAX_REPAIRS: Final = 200
_MAX_ERRORS: Final = 5


@dataclass(frozen=True, slots=True)
class ObjectStates:
    """The states that a definition allows.

    Attributes:
        resource: The resource.
        kind: The kind.
        is_namespaced: Whether its objects have a namespace.
        schema: The schema of the version.
        scale_path: The field of the scale subresource, such as ``spec.replicas``; empty for none.
    """

    resource: GroupVersionResource
    kind: str
    is_namespaced: bool
    schema: Schema
    scale_path: str = ""

    def find_errors(self, state: State, old: State | None = None) -> list[str]:
        """Return the errors of a state and of the change to it; unknown fields are errors as well."""
        found = validate_object(self.wrap(state), self.schema, old=None if old is None else self.wrap(old))
        # The server prunes unknown fields silently, and the step would do nothing.
        return [*(f"{path}: unknown field" for path in found.unknown), *map(str, found.errors)]

    def wrap(self, state: State, name: str = "name", namespace: str = "") -> dict[str, Json]:
        """Return an object with a state."""
        metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
        api_version = f"{self.resource.group}/{self.resource.version}"
        # A copy, because `apply_defaults` changes its argument.
        return {"apiVersion": api_version, "kind": self.kind, "metadata": metadata, **copy_json(state)}

    def normalize(self, state: State) -> State:
        """Return a state with the defaults that the server sets."""
        full = self.wrap(state)
        apply_defaults(full, self.schema)
        return {name: value for name, value in full.items() if name not in UNMANAGED}

    def build_first(self, generator: ValueGenerator, rng: Random) -> State:
        """Make a small valid state.

        Raises:
            ArgumentError: If none is found.
        """
        state: State = {}
        for name, field in self.schema.properties.items():
            # Optional fields come with later steps; without a spec, most operators do nothing.
            if name not in UNMANAGED and (name in self.schema.required or name == "spec"):
                state[name] = generator.build(field, (name,))
        return self._repair(state, generator, rng)

    def _repair(self, state: State, generator: ValueGenerator, rng: Random) -> State:
        """Change a state, field by field, until it is valid."""
        errors = self.find_errors(state)
        for _ in range(_MAX_REPAIRS):
            if not errors:
                return state
            # A field that an error names, or one inside of it, or whatever else may help.
            changes = [change for change in find_changes(self.schema, state, generator, {}) if not change.is_violation]
            named = [change for change in changes if any(format_path(change.path) in error for error in errors)]
            inside = [
                change
                for change in changes
                if any(format_path(change.path).startswith(error.partition(":")[0]) for error in errors)
            ]
            # Chance leads out of dead ends: an error may name a field whose value is right.
            usable = named if named and rng.random() < 0.5 else inside or changes
            if not usable:
                break
            changed = rng.choice(usable).apply(state)
            remaining = self.find_errors(changed)
            # Sideways moves are allowed: a rule may need two fields to change.
            if len(remaining) <= len(errors):
                state, errors = changed, remaining
        listed = "; ".join(errors[:_MAX_ERRORS])
        raise ArgumentError(
            f"no valid {self.kind} could be made from its schema ({listed}): pass a valid object, examples=[...]",
            value=self.kind,
        )

    def read_example(self, example: Object | Mapping[str, object]) -> tuple[str, str, State]:
        """Return name, namespace and state of an example.

        Raises:
            ArgumentError: If it is of another kind, or invalid.
        """
        plain = cast("dict[str, Any]", example.to_dict() if isinstance(example, Object) else copy_json(dict(example)))
        # Plain examples may omit the kind.
        if plain.get("kind", self.kind) != self.kind:
            raise ArgumentError(f"the example is a {plain.get('kind')}, and not a {self.kind}", value=example)
        state = {name: value for name, value in plain.items() if name not in UNMANAGED}
        metadata = cast("dict[str, Any]", plain.get("metadata") or {})
        # An invalid example would turn every step into a refusal.
        if errors := self.find_errors(state):
            raise ArgumentError(
                f"the example {metadata.get('name', '')!r} is invalid: {'; '.join(errors[:_MAX_ERRORS])}", value=example
            )
        return str(metadata.get("name") or ""), str(metadata.get("namespace") or ""), state


def read_definition(definition: Mapping[str, object]) -> ObjectStates:
    """Read the states of a CustomResourceDefinition, in its storage version.

    Raises:
        ArgumentError: If it has no version with a schema.
    """
    spec = _member(definition, "spec")
    versions = [version for version in _member(spec, "versions") or () if _member(version, "served")]
    # Operators usually reconcile the storage version.
    version = next((version for version in versions if _member(version, "storage")), versions[0] if versions else None)
    schema = _member(version, "schema", "openAPIV3Schema")
    if not is_object(schema):
        raise ArgumentError("the definition has no served version with a schema", value=definition)
    try:
        parsed = Schema.from_plain(schema)
    except msgspec.ValidationError as error:
        raise ArgumentError(f"the schema of the definition cannot be read: {error}", value=definition) from error
    plural, kind = _member(spec, "names", "plural"), _member(spec, "names", "kind")
    return ObjectStates(
        GroupVersionResource(_member(spec, "group"), _member(version, "name"), plural),
        kind,
        _member(spec, "scope") == "Namespaced",
        parsed,
        # The definition's path begins with a dot, other than the paths of changes.
        str(_member(version, "subresources", "scale", "specReplicasPath") or "").removeprefix("."),
    )


def _member(value: Json, *names: str) -> Json:
    """Return a member of nested objects; None if one of them is missing."""
    for name in names:
        value = value.get(name) if is_object(value) else None
    return value
