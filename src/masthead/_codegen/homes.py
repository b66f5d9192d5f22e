"""Assigns a class or a value type to each schema.

A schema's full name contains its package: ``io.k8s.api.batch.v1.CronJob`` is in ``io.k8s.api.batch.v1``.
The kinds among the schemas of a package determine its group and version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, get_args

from masthead._codegen import identifiers
from masthead._codegen.definitions import ModuleDef, Reference
from masthead._codegen.spec import is_class, targets_of
from masthead._meta import names, v1
from masthead._schema.well_known import QUANTITY_PATTERN
from masthead.errors import GenerateError

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from masthead._codegen.spec import Spec
    from masthead._meta.gvk import GroupVersion
    from masthead._schema.schema import Schema

META_V1: Final = "masthead.meta.v1"
"""The module that exports the types of meta/v1."""


def meta(name: str) -> Reference:
    """A name that generated modules import from `masthead.meta`."""
    return Reference("masthead.meta", name)


JSON: Final = meta("JSON")
TIME: Final = meta("Time")
INT_OR_STRING: Final = meta("IntOrString")
QUANTITY: Final = meta("Quantity")
CONDITION: Final = Reference(META_V1, "Condition")
CONDITION_STATUS: Final = Reference(META_V1, "ConditionStatus")
CONDITION_STATUSES: Final = frozenset[str](get_args(v1.ConditionStatus))

_MACHINERY: Final = "io.k8s.apimachinery."
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."
_EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

LIST_META: Final = f"{_META}ListMeta"

VALUES: Final[Mapping[str, Reference]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": QUANTITY,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": INT_OR_STRING,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": JSON,
    f"{_META}Time": TIME,
    f"{_META}MicroTime": meta("MicroTimeField"),
    f"{_META}FieldsV1": Reference(META_V1, "FieldsV1"),
    f"{_META}Patch": JSON,
    f"{_EXTENSIONS}JSON": JSON,
}
"""Schemas that map to value types instead of generated classes."""

UNIONS: Final[Mapping[str, tuple[str, str]]] = {
    f"{_EXTENSIONS}JSONSchemaPropsOrArray": (f"{_EXTENSIONS}JSONSchemaProps", "{0} | list[{0}]"),
    f"{_EXTENSIONS}JSONSchemaPropsOrBool": (f"{_EXTENSIONS}JSONSchemaProps", "{0} | bool"),
    f"{_EXTENSIONS}JSONSchemaPropsOrStringArray": (f"{_EXTENSIONS}JSONSchemaProps", "{0} | list[str]"),
}
"""Schemas without a type whose Go types are unions of two types."""


SENSITIVE: Final[Mapping[str, frozenset[str]]] = {
    "io.k8s.api.authentication.v1.TokenRequestStatus": frozenset({"token"}),
    "io.k8s.api.authentication.v1.TokenReviewSpec": frozenset({"token"}),
    "io.k8s.api.core.v1.Secret": frozenset({"stringData"}),
}
"""Fields that contain secrets in clear text; no schema marks them."""

# The schemas that controller-gen writes for Quantity and Condition.
_CONDITION_FIELDS: Final = frozenset({"lastTransitionTime", "message", "reason", "status", "type"})


def is_quantity(schema: Schema) -> bool:
    """Whether an inline schema is that of a quantity."""
    return schema.int_or_string and schema.pattern == QUANTITY_PATTERN


def is_condition(schema: Schema) -> bool:
    """Whether an inline schema is that of meta/v1's Condition."""
    # The field is optional in the type as well.
    fields = frozenset(schema.properties.keys() - {"observedGeneration"})
    return fields == _CONDITION_FIELDS and _CONDITION_FIELDS.issubset(schema.required)


def meta_class(target: str) -> Reference | None:
    """The class in `masthead.meta.v1` for a schema, or None."""
    name = target.removeprefix(_META)
    return Reference(META_V1, name) if name != target and name in v1.__all__ else None


class Homes:
    """The module and the class name of every schema that gets a generated class.

    Attributes:
        modules: By group and version.
        classes: By the schema's full name.
    """

    def __init__(self, spec: Spec, package: str) -> None:
        """Assign every schema.

        Raises:
            GenerateError: If a group or version is invalid.
        """
        self.modules: dict[GroupVersion, ModuleDef] = {}
        self.classes: dict[str, tuple[ModuleDef, str]] = {}
        packages = _packages(spec)
        taken: dict[str, set[str]] = {}
        # Sorted, so that names that need a number get the same one in every run.
        for full_name in sorted(spec.schemas):
            prefix, _, name = full_name.rpartition(".")
            # Schemas without a group are adopted by the modules that refer to them.
            if prefix not in packages or _is_value(full_name) or not is_class(spec.schemas[full_name]):
                continue
            served = packages[prefix]
            if served not in self.modules:
                self.modules[served] = self._module(prefix, served, package)
            module = self.modules[served]
            here = taken.setdefault(module.name, set())
            class_name = identifiers.numbered(identifiers.class_name(name), here)
            here.add(class_name)
            self.classes[full_name] = (module, class_name)

    def _module(self, prefix: str, served: GroupVersion, package: str) -> ModuleDef:
        _check(served)
        # The server derives the names of custom schemas from the group, those of Go types from the package.
        is_custom = prefix == ".".join([*reversed(served.group.split(".")), served.version])
        # Kubernetes' own groups have the short names of client-go, which are those of their Go packages.
        is_short = prefix.startswith("io.k8s.") and not is_custom
        group = identifiers.module_name(prefix.split(".")[-2] if is_short else served.group)
        version = identifiers.module_name(served.version)
        return ModuleDef(f"{package}.{self._folder(served.group, group)}.{version}", served, is_custom)

    def _folder(self, group: str, name: str) -> str:
        """The folder of a group; it must differ from those of other groups and from ``index.py``."""
        others = {module.name.split(".")[-2] for served, module in self.modules.items() if served.group != group}
        return identifiers.numbered(name, others | {"index"})


def reach_beyond(spec: Spec, groups: Container[str]) -> bool:
    """Whether a class of these groups refers to a class of another or of an unknown group."""
    placed = Homes(spec, "").classes
    inside = {name for name, (module, _) in placed.items() if module.group_version.group in groups}
    return any(
        target not in inside and not _is_value(target) and target in spec.schemas
        for name in inside
        for target in targets_of(spec.schemas[name])
    )


def _check(served: GroupVersion) -> None:
    """Reject names that are unsafe in a file name or in a docstring.

    Raises:
        GenerateError: If a group or version is invalid.
    """
    problem = names.problem_with_dns1035_label(served.version)
    if served.group:
        problem = names.problem_with_dns1123_subdomain(served.group) or problem
    if problem:
        raise GenerateError(f'"{served}" is not a valid group and version: it {problem}')


def _is_value(full_name: str) -> bool:
    return full_name.startswith(_MACHINERY) or full_name in VALUES or full_name in UNIONS


def _packages(spec: Spec) -> dict[str, GroupVersion]:
    """The group and version of each prefix of schema names, derived from the kinds among them."""
    return {
        name.rpartition(".")[0]: schema.kinds[0].group_version
        for name, schema in sorted(spec.schemas.items(), key=lambda each: each[0])
        if len(schema.kinds) == 1 and not name.startswith(_MACHINERY)
    }
