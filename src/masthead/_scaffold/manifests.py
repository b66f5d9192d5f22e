"""All manifests of an operator, by file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta import yaml
from masthead._scaffold.access import access_objects
from masthead._scaffold.definitions import definition_objects
from masthead._scaffold.webhooks import ca_annotations, webhook_objects
from masthead._scaffold.workload import namespace_object, workload_objects
from masthead._webhook.locations import service_location, service_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from masthead._scaffold.settings import Deploy

__all__ = ["manifests_of", "to_text"]

_SEPARATOR: Final = "---\n"


def manifests_of(deploy: Deploy) -> dict[str, list[Mapping[str, object]]]:
    """Return the objects by file, in the order of their application. The result is deterministic.

    Raises:
        CustomResourceError: If the versions of a custom resource are inconsistent.
        ConfigError: If a version of a custom resource cannot be converted.
    """
    namespace = () if deploy.has_namespace else (namespace_object(deploy),)
    service = service_location(deploy.namespace, service_name(deploy.name))
    locate = service if deploy.serves_webhooks else None
    # kubectl applies the files of a folder in the order of their names.
    made: dict[str, list[Mapping[str, object]]] = {
        "crds.yaml": [*definition_objects(deploy.manager, locate, ca_annotations(deploy))],
        "operator.yaml": [*namespace, *access_objects(deploy), *workload_objects(deploy)],
        # Last, because every write of the kinds fails until the Deployment serves them.
        "webhooks.yaml": [*webhook_objects(deploy)],
    }
    return {name: objects for name, objects in made.items() if objects}


def to_text(objects: Iterable[Mapping[str, object]]) -> str:
    """Render objects as one YAML stream."""
    return _SEPARATOR.join(yaml.dump(obj) for obj in objects)
