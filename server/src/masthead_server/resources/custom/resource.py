"""The resources of a definition: one for each served version, and one for the stored objects."""

from __future__ import annotations

import functools
import uuid
from typing import TYPE_CHECKING, Final

from masthead._meta.gvk import GroupVersion, GroupVersionKind
from masthead._meta.quoting import quoted
from masthead._meta.resource import Resource, Subresource
from masthead_server.resources.behavior import no_behavior
from masthead_server.resources.custom.codec import NopConverter, SchemaCodec, StoredCodec
from masthead_server.resources.custom.selectable_fields import selectable_fields
from masthead_server.resources.description import ResourceDescription
from masthead_server.resources.resource import ServedResource
from masthead_server.resources.strategy import (
    ALL_METADATA,
    ANY_FINALIZER,
    CONDITIONAL_UPDATE,
    EVERY_VALUE,
    Facts,
    Strategy,
    generation,
    status,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._printers.printer import Printer
    from masthead_server.resources.behavior import Behavior
    from masthead_server.resources.custom.codec import Converter
    from masthead_server.resources.custom.definition import Definition, DefinitionVersion
    from masthead_server.resources.webhook_clients import ServiceResolver, VirtualTime

__all__ = ["served_versions", "stored_resource"]

_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_VERBS_WHEN_TERMINATING: Final = ("delete", "deletecollection", "get", "list", "watch")
"""What discovery shows of a definition that is being deleted; updates are served all the same."""
_SUBRESOURCE_VERBS: Final = ("get", "patch", "update")
_SCALE: Final = GroupVersionKind("autoscaling", "v1", "Scale")
_FACTS: Final[tuple[Facts, ...]] = (generation(EVERY_VALUE), CONDITIONAL_UPDATE, ANY_FINALIZER)
_STRATEGY: Final = Strategy.of(*_FACTS)
_STATUS_STRATEGY: Final = Strategy.of(status(ALL_METADATA), *_FACTS)


def _random_uid() -> str:
    return str(uuid.uuid4())


def served_versions(
    definition: Definition,
    since: int,
    resolve: ServiceResolver | None = None,
    now: VirtualTime | None = None,
    new_uid: Callable[[], str] = _random_uid,
) -> list[ServedResource]:
    """Return the resources of the versions that a definition serves.

    Args:
        definition: The definition.
        since: The revision of its last change. Objects that were written later went through its schemas.
        resolve: Finds the service of a conversion webhook; None if there are no services.
        now: The time of a virtual clock; None for the real time.
        new_uid: Returns the uid of a request to a conversion webhook.
    """
    converter = _converter(definition, resolve, now, new_uid)
    return [_serve(version, converter, since) for version in definition.versions.values() if version.is_served]


def _converter(
    definition: Definition, resolve: ServiceResolver | None, now: VirtualTime | None, new_uid: Callable[[], str]
) -> Converter:
    if not definition.has_webhook:
        return NopConverter()
    from masthead_server.resources.custom.webhook_converter import WebhookConverter

    return WebhookConverter(definition, resolve or _no_services, now, new_uid)


def _no_services(_namespace: str, name: str, _port: int) -> tuple[str, int]:
    raise LookupError(f"service {quoted(name)} not found")


def stored_resource(definition: Definition) -> ServedResource:
    """Return the resource by which controllers read and change the metadata of stored objects."""
    version = definition.storage_version
    description = ResourceDescription(
        strategy=_strategy(version),
        behavior=no_behavior,
        stored_as=GroupVersion(definition.group, version.name),
    )
    return ServedResource(version.gvk, _resource(version), description, StoredCodec(version))


def _serve(version: DefinitionVersion, converter: Converter, since: int) -> ServedResource:
    definition = version.definition
    description = ResourceDescription(
        strategy=_strategy(version),
        behavior=functools.partial(_behavior, version),
        selectable=selectable_fields(version),
        stored_as=GroupVersion(definition.group, definition.storage_version.name),
        printer=functools.partial(_printer, version),
    )
    return ServedResource(
        version.gvk,
        _resource(version),
        description,
        SchemaCodec(version, converter, since),
        verbs=frozenset(_VERBS),
        list_kind=definition.list_kind,
        deprecation_warning=version.deprecation_warning,
        definition=version,
    )


def _behavior(version: DefinitionVersion) -> Behavior:
    from masthead_server.resources.custom.behavior import behavior_of

    return behavior_of(version)


def _printer(version: DefinitionVersion) -> Printer:
    from masthead._printers.custom import printer_of_version

    return printer_of_version(version.plain)


def _strategy(version: DefinitionVersion) -> Strategy:
    return _STATUS_STRATEGY if version.has_status else _STRATEGY


def _resource(version: DefinitionVersion) -> Resource:
    definition = version.definition
    subresources: list[Subresource] = []
    if version.has_status:
        subresources.append(Subresource("status", version.gvk, _SUBRESOURCE_VERBS))
    if version.scale:
        subresources.append(Subresource("scale", _SCALE, _SUBRESOURCE_VERBS))
    return Resource(
        definition.plural,
        definition.singular,
        namespaced=definition.is_namespaced,
        verbs=_VERBS_WHEN_TERMINATING if definition.is_terminating else _VERBS,
        short_names=definition.short_names,
        categories=definition.categories,
        subresources=tuple(subresources),
    )
