"""The schemas of Kubernetes' own types. Each is made from its generated class when it is first used."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Final, cast

from msgspec.structs import replace

from masthead._meta.gvk import GroupVersionKind
from masthead._schema.builtin.facts import FACTS
from masthead._schema.classes import NO_FACTS, TypeFacts, read_facts, schema_of_class
from masthead._schema.schema import REF_PREFIX, Definitions, Schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._meta.apitype import ApiType
    from masthead._meta.object import Object

__all__ = ["DEFINITIONS", "BuiltinDefinitions", "module_of", "name_of", "schema_of_kind"]

_MACHINERY: Final = "io.k8s.apimachinery.pkg."
_META: Final = f"{_MACHINERY}apis.meta.v1"
_EXTENSIONS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
_STRING: Final = Schema(type="string")
_TEXT: Final = Schema(type="string", default="")

_VALUES: Final[Mapping[str, Schema]] = {
    f"{_MACHINERY}api.resource.Quantity": Schema(one_of=(_STRING, Schema(type="number"))),
    f"{_MACHINERY}util.intstr.IntOrString": Schema(format="int-or-string", one_of=(Schema(type="integer"), _STRING)),
    f"{_MACHINERY}runtime.RawExtension": Schema(type="object"),
    f"{_MACHINERY}version.Info": Schema(
        type="object",
        properties={
            "buildDate": _TEXT,
            "compiler": _TEXT,
            "emulationMajor": _STRING,
            "emulationMinor": _STRING,
            "gitCommit": _TEXT,
            "gitTreeState": _TEXT,
            "gitVersion": _TEXT,
            "goVersion": _TEXT,
            "major": _TEXT,
            "minCompatibilityMajor": _STRING,
            "minCompatibilityMinor": _STRING,
            "minor": _TEXT,
            "platform": _TEXT,
        },
        required=(
            "major",
            "minor",
            "gitVersion",
            "gitCommit",
            "gitTreeState",
            "buildDate",
            "goVersion",
            "compiler",
            "platform",
        ),
    ),
    f"{_META}.FieldsV1": Schema(type="object"),
    f"{_META}.MicroTime": Schema(type="string", format="date-time"),
    f"{_META}.Patch": Schema(type="object"),
    f"{_META}.Time": Schema(type="string", format="date-time"),
    f"{_META}.WatchEvent": Schema(
        type="object",
        properties={
            "object": Schema(all_of=(Schema(ref=f"{REF_PREFIX}{_MACHINERY}runtime.RawExtension"),)),
            "type": _TEXT,
        },
        required=("type", "object"),
        kinds=(GroupVersionKind("", "v1", "WatchEvent"),),
    ),
    f"{_EXTENSIONS}.JSON": Schema(),
    f"{_EXTENSIONS}.JSONSchemaPropsOrArray": Schema(),
    f"{_EXTENSIONS}.JSONSchemaPropsOrBool": Schema(),
    f"{_EXTENSIONS}.JSONSchemaPropsOrStringArray": Schema(),
}
"""Types that have no class of their own."""
_KINDS_OF_STRUCTS: Final = frozenset({"APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "DeleteOptions"})
"""Kinds of meta/v1 whose classes are plain structs."""
_MODULES: Final[Mapping[str, str]] = {module: package for package, (module, _) in FACTS.items()}
_META_MODULES: Final = frozenset({"masthead._meta.v1", "masthead._meta.metadata"})


class BuiltinDefinitions(Definitions):
    """The schemas of all types of `masthead.api` and `masthead.meta.v1`, by their full names.

    Threads: safe; two threads that need the same schema may both create it, with equal results.
    """

    def __init__(self) -> None:
        super().__init__()
        self._made: dict[str, Schema | None] = dict(_VALUES)

    def get(self, name: str) -> Schema | None:
        """Return the schema of a full name, or None. The module of its class is imported on demand."""
        try:
            return self._made[name]
        except KeyError:
            pass
        cls = _class_of(name)
        if cls is None:
            return None
        made = self._made[name] = self._make(name, cls)
        return made

    def require(self, name: str) -> Schema:
        """Return the schema of a full name.

        Raises:
            KeyError: If it does not exist.
        """
        found = self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    @staticmethod
    def _make(name: str, cls: ApiType) -> Schema:
        package, _, short = name.rpartition(".")
        made = schema_of_class(cls, name_of, _facts_of(package).get(short, NO_FACTS))
        is_kind = package == _META and short in _KINDS_OF_STRUCTS
        return replace(made, kinds=(GroupVersionKind("", "v1", short),)) if is_kind else made


DEFINITIONS: Final = BuiltinDefinitions()
"""The schemas of this process; they are constants."""


def name_of(cls: ApiType) -> str:
    """Return the full name of the schema of a class, such as ``io.k8s.api.core.v1.Pod``.

    Raises:
        KeyError: If it is no class of Kubernetes' own types.
    """
    module = str(cls.module_globals["__name__"])
    package = _META if module in _META_MODULES else _MODULES[module.removeprefix("masthead.api.")]
    return f"{package}.{cls.__name__}"


def schema_of_kind(cls: type[Object]) -> Schema:
    """Return the schema of a kind by its class.

    Raises:
        KeyError: If it is no class of Kubernetes' own types.
    """
    return DEFINITIONS.require(name_of(cast("ApiType", cls)))


def module_of(package: str) -> str:
    """Return the module of a package of types, below `masthead.api`; empty if it has none there."""
    return FACTS[package][0] if package in FACTS else ""


def _class_of(name: str) -> ApiType | None:
    package, _, short = name.rpartition(".")
    if package not in FACTS:
        return None
    where = "masthead._meta.v1" if package == _META else f"masthead.api.{FACTS[package][0]}"
    return cast("ApiType | None", getattr(importlib.import_module(where), short, None))


@functools.cache
def _facts_of(package: str) -> dict[str, TypeFacts]:
    return read_facts(FACTS[package][1])
