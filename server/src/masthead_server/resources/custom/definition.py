"""A CustomResourceDefinition, as far as serving its objects is concerned."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

import msgspec

from masthead._meta.api_versions import precedence
from masthead._meta.gvk import GroupVersion
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.conditions import (
    ESTABLISHED,
    NAMES_ACCEPTED,
    TERMINATING,
    is_condition_true,
)
from masthead_server.wire.plain import Plain, items, part, text, with_integers

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._meta.gvk import GroupVersionKind
    from masthead._schema.schema import Schema

__all__ = ["Definition", "DefinitionVersion", "ScalePaths", "schema_of_version"]

_NAMESPACED: Final = "Namespaced"
_MANY_ALTERNATIVES: Final = 50


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Where an object has what its scale shows; each path begins with a dot.

    Attributes:
        spec_replicas: The wanted number of replicas.
        status_replicas: The present number of replicas.
        label_selector: The selector of the pods, as text; empty if the definition names none.
    """

    spec_replicas: str
    status_replicas: str
    label_selector: str = ""


class DefinitionVersion:
    """One version of a definition.

    Args:
        definition: The definition that it belongs to.
        plain: The item of ``spec.versions``.
    """

    def __init__(self, definition: Definition, plain: Plain) -> None:
        self.definition = definition
        # As text: the garbage collector of Python would visit each part of thousands of schemas again and again.
        self._text = msgspec.json.encode(plain)
        self.name: str = text(plain, "name")
        self.is_served: bool = bool(plain.get("served"))
        self.is_storage: bool = bool(plain.get("storage"))
        self.selectable_paths: list[str] = [
            text(selectable_field, "jsonPath") for selectable_field in items(plain, "selectableFields")
        ]
        subresources = part(plain, "subresources")
        self.has_status: bool = isinstance(subresources.get("status"), dict)
        self.scale: ScalePaths | None = _scale_paths(part(subresources, "scale"))
        self.is_deprecated: bool = bool(plain.get("deprecated"))
        self._own_warning = plain.get("deprecationWarning")

    @property
    def plain(self) -> Plain:
        """The item of ``spec.versions``."""
        return cast("Plain", msgspec.json.decode(self._text))

    @functools.cached_property
    def gvk(self) -> GroupVersionKind:
        """The kind in this version."""
        return GroupVersion(self.definition.group, self.name).kind(self.definition.kind)

    @functools.cached_property
    def schema(self) -> Schema:
        """The schema of the objects."""
        return schema_of_version(self._text)

    @property
    def key(self) -> bytes:
        """The item of ``spec.versions`` as text, the key of caches."""
        return self._text

    @functools.cached_property
    def has_embedded(self) -> bool:
        """Whether the objects have whole objects embedded in them."""
        return _any(self.schema, lambda each: each.embedded_resource)

    @functools.cached_property
    def has_rules(self) -> bool:
        """Whether the schema has validation rules."""
        return _any(self.schema, lambda each: bool(each.rules))

    @functools.cached_property
    def has_defaults(self) -> bool:
        """Whether the schema has defaults."""
        return _any(self.schema, lambda each: each.has_default)

    @functools.cached_property
    def has_unique_lists(self) -> bool:
        """Whether the schema has lists of type ``set`` or ``map``."""
        return _any(self.schema, lambda each: each.list_type in {"set", "map"})

    @functools.cached_property
    def has_many_alternatives(self) -> bool:
        """Whether a value may have to be checked against many schemas, each of which may have a pattern."""
        return _alternatives(self.schema) > _MANY_ALTERNATIVES

    @property
    def deprecation_warning(self) -> str:
        """The warning that every request to this version gets; empty if it is not deprecated."""
        if not self.is_deprecated:
            return ""
        # An empty text is a warning, too, and suppresses the default one.
        if isinstance(self._own_warning, str):
            return self._own_warning
        group, kind = self.definition.group, self.definition.requested_kind
        better = [
            version.name
            for version in self.definition.versions.values()
            if version.is_served and not version.is_deprecated and precedence(version.name) > precedence(self.name)
        ]
        advice = f"; use {group}/{max(better, key=precedence)} {kind}" if better else ""
        return f"{group}/{self.name} {kind} is deprecated{advice}"


class Definition:
    """A CustomResourceDefinition.

    Args:
        plain: The object.
    """

    def __init__(self, plain: Plain) -> None:
        spec, status = part(plain, "spec"), part(plain, "status")
        names = part(status, "acceptedNames")
        self.name: str = text(part(plain, "metadata"), "name")
        self.uid: str = text(part(plain, "metadata"), "uid")
        self._spec_digest = _digest(spec)
        self.schemas_digest: bytes = _digest([spec.get(name) for name in ("versions", "preserveUnknownFields")])
        """Says whether two states of a definition have the same schemas."""
        self.group: str = text(spec, "group")
        self.plural: str = text(names, "plural")
        self.singular: str = text(names, "singular")
        self.kind: str = text(names, "kind")
        self.list_kind: str = text(names, "listKind")
        self.short_names: tuple[str, ...] = tuple(names.get("shortNames") or ())
        self.categories: tuple[str, ...] = tuple(names.get("categories") or ())
        self.table: str = f"{self.group}/{text(part(spec, 'names'), 'plural')}"
        """The table that stores its objects."""
        self.requested_kind: str = text(part(spec, "names"), "kind")
        self.is_namespaced: bool = text(spec, "scope") == _NAMESPACED
        self.preserves_unknown: bool = bool(spec.get("preserveUnknownFields"))
        self.conversion: Plain = part(spec, "conversion")
        self.has_webhook: bool = text(self.conversion, "strategy") == "Webhook" and len(items(spec, "versions")) > 1
        """Whether a webhook converts the objects between versions."""
        self.is_established: bool = is_condition_true(plain, ESTABLISHED)
        self.is_servable: bool = self.is_established or is_condition_true(plain, NAMES_ACCEPTED)
        """Whether requests for its objects are served: its names were accepted, now or in the past."""
        # The condition rather than the deletion timestamp: it is what discovery and admission follow.
        self.is_terminating: bool = is_condition_true(plain, TERMINATING)
        self.versions: dict[str, DefinitionVersion] = {
            text(version, "name"): DefinitionVersion(self, version) for version in items(spec, "versions")
        }

    @property
    def storage_version(self) -> DefinitionVersion:
        """The version in which objects are stored."""
        return next(version for version in self.versions.values() if version.is_storage)

    def serves_as(self, other: Definition) -> bool:
        """Tell whether the objects are served exactly as by another state of the same definition."""
        return self._facts() == other._facts()

    def _facts(self) -> tuple[object, ...]:
        names = (self.plural, self.singular, self.kind, self.list_kind, self.short_names, self.categories)
        flags = (self.is_established, self.is_servable, self.is_terminating)
        return (self.uid, names, flags, self._spec_digest)


@functools.lru_cache(maxsize=32)
def schema_of_version(text: bytes) -> Schema:
    """Return the schema of an item of ``spec.versions``: tests define the same kinds in one server after the other."""
    from masthead._schema.schema import Schema

    plain = cast("Plain", msgspec.json.decode(text))
    # The definition was stored, so a default of 2.0 has become an integer.
    return Schema.from_plain(cast("Plain", with_integers(part(part(plain, "schema"), "openAPIV3Schema"))))


def _digest(plain: object) -> bytes:
    return hashlib.sha256(msgspec.json.encode(plain, order="sorted")).digest()


def _any(schema: Schema, holds: Callable[[Schema], bool]) -> bool:
    """Whether something holds for a schema, or for any within it."""
    return holds(schema) or any(_any(item, holds) for item in (*schema.children(), *schema.all_of))


def _alternatives(schema: Schema) -> int:
    """Return the number of schemas in ``allOf``, ``anyOf``, ``oneOf`` and ``not``, at any depth."""
    own = [*schema.all_of, *schema.any_of, *schema.one_of]
    if schema.not_ is not None:
        own.append(schema.not_)
    # An upper bound: a value is checked against all of them in the worst case.
    return len(own) + sum(map(_alternatives, (*own, *schema.children())))


def _scale_paths(plain: Plain) -> ScalePaths | None:
    if not plain:
        return None
    return ScalePaths(
        text(plain, "specReplicasPath"), text(plain, "statusReplicasPath"), text(plain, "labelSelectorPath")
    )
