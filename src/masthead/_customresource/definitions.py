"""The CustomResourceDefinition of one or several versions of a kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from masthead._customresource.checks import check_schema
from masthead._customresource.json_paths import check_scale, check_selectable, column_type
from masthead._customresource.options import PrinterColumn
from masthead._customresource.schemas import schema_of_resource
from masthead._meta.api_versions import precedence
from masthead._meta.gvk import GroupVersionKind
from masthead._meta.registry import registry
from masthead.errors import CustomResourceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._customresource.options import Options
    from masthead._meta.object import Object
    from masthead._schema.schema import Schema
    from masthead.api.apiextensions.v1 import CustomResourceDefinition

__all__ = ["checked_schema", "definition_of"]

_DEFINITION: Final = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
_AGE: Final = PrinterColumn(".metadata.creationTimestamp", "date")
_REPEATED: Final = ("plural", "singular", "namespaced")
"""Options that all versions of a kind have in common, and every class has to set."""
_INHERITED: Final = ("short_names", "categories")
"""Options that all versions of a kind have in common, and one class may set for all."""


def checked_schema(cls: type[Object], options: Options) -> Schema:
    """Return the checked schema of a class.

    Raises:
        CustomResourceError: If the server would reject it.
        NameError: If a type is not defined yet.
    """
    schema = schema_of_resource(cls)
    # Checked without descriptions, because they cannot make a schema invalid.
    check_schema(schema, cls.__name__)
    for name, column in options.columns.items():
        column_type(name, column, schema, cls.__name__)
    check_scale(options, schema, cls.__name__)
    check_selectable(options, schema, cls.__name__)
    return schema


def definition_of(versions: Sequence[tuple[Options, Schema]]) -> CustomResourceDefinition:
    """Return the definition of a kind.

    Args:
        versions: The options and the schema of each version.

    Raises:
        CustomResourceError: If the versions are inconsistent.
    """
    # Independent of the order of the classes, so that generated files do not change.
    ordered = sorted(versions, key=lambda pair: (precedence(pair[0].version), pair[0].version), reverse=True)
    found = [options for options, _ in ordered]
    _check_versions(found)
    first = found[0]
    shared = {name: _agree_on(found, name) for name in _INHERITED}
    spec: dict[str, Any] = {
        "group": first.group,
        "names": {
            "kind": first.kind,
            "listKind": f"{first.kind}List",
            "plural": first.plural,
            "singular": first.singular,
            **({"shortNames": list(shared["short_names"])} if shared["short_names"] else {}),
            **({"categories": list(shared["categories"])} if shared["categories"] else {}),
        },
        "scope": "Namespaced" if first.namespaced else "Cluster",
        "versions": [_version(options, schema) for options, schema in ordered],
    }
    # Conversion belongs to the kind; any class may declare it.
    webhooks = [options.conversion for options, _ in ordered if options.conversion is not None]
    if webhooks:
        spec["conversion"] = webhooks[0].to_plain()
    made = registry.object_class(_DEFINITION).from_dict(
        {
            "apiVersion": _DEFINITION.api_version,
            "kind": _DEFINITION.kind,
            "metadata": {"name": first.name},
            "spec": spec,
        }
    )
    return cast("CustomResourceDefinition", made)


def _check_versions(found: list[Options]) -> None:
    first = found[0]
    where = f"{first.kind}.{first.group}"
    for other in found[1:]:
        if (other.group, other.kind) != (first.group, first.kind):
            raise CustomResourceError(f"{where} and {other.kind}.{other.group} are different kinds")
        for name in _REPEATED:
            one, two = getattr(first, name), getattr(other, name)
            if one != two:
                raise CustomResourceError(
                    f"the versions {first.version} and {other.version} differ in {name}: {one!r} and {two!r}; give "
                    f"each class the same {name}=",
                    path=where,
                )
    names = [options.version for options in found]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise CustomResourceError(f"two classes have the version {doubled[0]}", path=where)
    stored = [options.version for options in found if options.storage]
    # The API server requires exactly one storage version.
    if not stored:
        raise CustomResourceError(
            f"no version is stored: of {', '.join(names)}, one needs storage=True; pass all versions of the kind",
            path=where,
        )
    if len(stored) > 1:
        raise CustomResourceError(
            f"the versions {' and '.join(stored)} are both stored; set storage=False on all but one",
            path=where,
        )
    if len({options.conversion for options in found if options.conversion is not None}) > 1:
        raise CustomResourceError("the versions have different conversion webhooks", path=where)


def _agree_on(found: list[Options], name: str) -> tuple[str, ...]:
    """Return the common value of an option of several versions.

    Raises:
        CustomResourceError: If the versions have different values.
    """
    given = [(options.version, getattr(options, name)) for options in found if getattr(options, name)]
    for version, names in given[1:]:
        # The order of short names and categories has no meaning.
        if set(names) != set(given[0][1]):
            raise CustomResourceError(
                f"the versions {given[0][0]} and {version} differ in {name}: {list(given[0][1])} and {list(names)}; "
                f"they are those of the kind: give {name}= in one class, and leave it out in the others",
                path=f"{found[0].kind}.{found[0].group}",
            )
    return given[0][1] if given else ()


def _version(options: Options, schema: Schema) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": options.version,
        "served": options.served,
        "storage": options.storage,
        **({"deprecated": True} if options.deprecated else {}),
        **({"deprecationWarning": options.deprecation_warning} if options.deprecation_warning else {}),
        # Encoding omits unset fields, and uses the names of the API.
        "schema": {"openAPIV3Schema": msgspec.json.decode(msgspec.json.encode(schema))},
    }
    subresources: dict[str, Any] = {"status": {}} if options.has_status else {}
    if options.scale is not None:
        subresources["scale"] = {
            "specReplicasPath": options.scale.spec_replicas,
            "statusReplicasPath": options.scale.status_replicas,
            **({"labelSelectorPath": options.scale.label_selector} if options.scale.label_selector else {}),
        }
    if subresources:
        made["subresources"] = subresources
    if columns := _columns(options, schema):
        made["additionalPrinterColumns"] = columns
    if options.selectable_fields:
        made["selectableFields"] = [{"jsonPath": selectable_field} for selectable_field in options.selectable_fields]
    return made


def _columns(options: Options, schema: Schema) -> list[dict[str, Any]]:
    """Return the columns with the age of an object, which the server adds only if there is no other column."""
    found = dict(options.columns)
    if found and not any(column.json_path == _AGE.json_path for column in found.values()):
        # Not if another column has the name already.
        found.setdefault("Age", _AGE)
    return [
        {
            "name": name,
            "type": column_type(name, column, schema, options.kind),
            "jsonPath": column.json_path,
            **({"format": column.format} if column.format else {}),
            **({"priority": column.priority} if column.priority else {}),
            **({"description": column.description} if column.description else {}),
        }
        for name, column in found.items()
    ]
