"""Types extended by the unknown fields of newer servers, so that these decode as fast as declared ones.

The first object with an unknown field is built slowly, and the field is remembered. From then on the decoder uses a
subclass with that field, reached through subclasses of all enclosing types. The decoded objects are the same as before;
only msgspec no longer fails.
"""

from __future__ import annotations

from typing import Any, Union, cast, get_args, get_origin

from msgspec import UNSET, UnsetType

from masthead._meta import shape
from masthead._meta.annotations import UNIONS, wire_type
from masthead._meta.apitype import UNKNOWN_FIELDS, ApiType, subclass, unknown_attributes
from masthead._meta.slots import is_lazy


def extend_annotation(annotation: object) -> object:
    """Replace each type in an annotation that has remembered fields, or that contains such a type."""
    return _TypeExtender().of(annotation)


class _TypeExtender:
    def __init__(self) -> None:
        # While a type is being extended it maps to itself, which ends the recursion of recursive types.
        self.done: dict[ApiType, ApiType] = {}

    def of(self, annotation: object) -> object:
        if isinstance(annotation, ApiType):
            return self._type(annotation)
        arguments = get_args(annotation)
        wider = tuple(self.of(argument) for argument in arguments)
        if all(new is old for new, old in zip(wider, arguments, strict=True)):
            return annotation
        origin = cast("Any", get_origin(annotation))
        return Union[wider] if origin in UNIONS else origin[wider]

    def _type(self, cls: ApiType) -> ApiType:
        if cls not in self.done:
            self.done[cls] = cls
            self.done[cls] = self._widen(cls)
        return self.done[cls]

    def _widen(self, cls: ApiType) -> ApiType:
        fields = shape.fields_by_attribute(cls)
        hints = {name: wire_type(hint) for name, hint in shape.annotations_of(cls).items() if not is_lazy(cls, name)}
        wider = {name: self.of(hint) for name, hint in hints.items()}
        changed = {
            name: Union[hint, None, UnsetType] if fields[name].default is UNSET else hint
            for name, hint in wider.items()
            if hint is not hints[name]
        }
        learnt = unknown_attributes(cls, UNKNOWN_FIELDS.of(cls))
        if not changed and not learnt:
            return cls
        rename = {**{name: fields[name].wire for name in changed}, **learnt}
        return subclass(cls, {**changed, **dict.fromkeys(learnt, Any)}, rename)
