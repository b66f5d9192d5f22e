"""Classes that are made at run time, for tests that are about one annotation or one option."""

from __future__ import annotations

from typing import Any, cast

import masthead
from masthead import CustomResource
from masthead.errors import UnprocessableError
from masthead.meta import Struct

Plain = dict[str, Any]


def make_struct(annotations: Plain, *, name: str = "Spec", module: str = __name__, **body: object) -> Any:
    """A type with these fields; further keywords are their defaults."""
    return cast("Any", type(Struct))(name, (Struct,), {"__module__": module, "__annotations__": annotations, **body})


def make_kind(annotations: Plain, *, name: str = "Thing", **options: Any) -> Any:
    """A custom resource with these fields, and with these options."""
    return cast("Any", type(CustomResource))(
        name,
        (CustomResource,),
        {"__module__": __name__, "__annotations__": annotations},
        **{"group": "example.com", "version": "v1", **options},
    )


def causes_of(resource: Any, obj: Any) -> list[tuple[str | None, str]]:
    """Why a server refuses an object, in order; nothing if it does not. That some rules were not checked is no
    cause."""
    try:
        resource.create(obj)
    except UnprocessableError as error:
        causes = error.details.causes if error.details is not None else []
        found = ((caus.field, caus.message or "") for caus in causes)
        return sorted(each for each in found if "rules were not checked" not in each[1])
    return []


def local_causes_of(obj: Any) -> list[tuple[str | None, str]]:
    """Why an object is invalid by its own class, in order."""
    return sorted((each.field, each.message or "") for each in masthead.crd.validate(obj))


def schema_of(cls: type[CustomResource]) -> Plain:
    """The schema in the definition of a kind."""
    version = cls.to_crd().to_dict()["spec"]["versions"][0]
    return cast("Plain", version["schema"]["openAPIV3Schema"])
