"""The API versions that Kubernetes no longer serves, read back from their generated classes.

No server has documents for them. Their classes came from the documents of old releases, and say all that is needed to
generate them again.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, cast

from masthead._codegen.spec import Spec
from masthead._meta.apitype import ApiType
from masthead._meta.object import ObjectList
from masthead._schema.builtin import definitions
from masthead._schema.classes import FieldFacts, TypeFacts, schema_of_class
from masthead.api.removed import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._meta.object import Object

__all__ = ["read_classes"]

_API = "masthead.api."


def read_classes() -> Spec:
    """Return the schemas and resources of the generated classes."""
    spec = Spec()
    for module, _ in KINDS.values():
        for cls in _classes_in(module):
            facts = {wire: FieldFacts(default=value) for wire, value in cast("Any", cls).DEFAULTS.items()}
            spec.schemas[_name_of(cls)] = schema_of_class(cls, _name_of, TypeFacts(fields=facts))
            kind = cast("type[Object]", cls)
            if getattr(cls, "GVK", None) is not None and not issubclass(cls, ObjectList) and kind.RESOURCE is not None:
                spec.resources[kind.GVK] = kind.RESOURCE
    return spec


def _classes_in(module: str) -> Iterator[ApiType]:
    loaded = importlib.import_module(module)
    for name in loaded.__all__:
        found: object = getattr(loaded, name)
        if isinstance(found, ApiType):
            yield found


def _name_of(cls: ApiType) -> str:
    """Return the full name of a class' schema; removed versions are named as served ones are."""
    module = str(cls.module_globals["__name__"])
    if any(module == removed for removed, _ in KINDS.values()):
        return f"io.k8s.api.{module.removeprefix(_API)}.{cls.__name__}"
    return definitions.name_of(cls)
