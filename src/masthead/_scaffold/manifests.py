"""All manifests of an operator, by file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta import yaml
from masthead._scaffold.access import access_objects
from masthead._scaffold.definitions import definition_objects
from masthead._scaffold.workload import namespace_object, workload_objects

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from masthead._scaffold.settings import Deploy

__all__ = ["manifests_of", "to_text"]

_SEPARATOR: Final = "---\n"


def manifests_of(deploy: Deploy) -> dict[str, list[Mapping[str, object]]]:
    """The objects by file, in the order in which they have to be applied; the same every time.

    Raises:
        CustomResourceError: If the versions of a custom resource do not fit together.
    """
    namespace = () if deploy.has_namespace else (namespace_object(deploy),)
    # kubectl applies the files of a folder in the order of their names.
    made: dict[str, list[Mapping[str, object]]] = {
        "crds.yaml": [*definition_objects(deploy.manager)],
        "operator.yaml": [*namespace, *access_objects(deploy), *workload_objects(deploy)],
    }
    return {name: objects for name, objects in made.items() if objects}


def to_text(objects: Iterable[Mapping[str, object]]) -> str:
    """Objects as one stream of YAML."""
    return _SEPARATOR.join(yaml.dump(each) for each in objects)
