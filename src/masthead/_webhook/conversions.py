"""Conversions between the versions of a custom resource, through the storage version."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import msgspec

from masthead._cache.callables import is_coroutine_function
from masthead._customresource.resource import CustomResource, options_of
from masthead._meta import wire
from masthead._module import set_module
from masthead.errors import ArgumentError, ConfigError, DecodeError, MastheadError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from masthead._meta.gvk import GroupKind
    from masthead._meta.object import Object

    Resource: TypeAlias = type[CustomResource]

__all__ = ["ConversionError", "ConversionSpec", "Converters", "restore_metadata"]

_MUTABLE_METADATA: Final = ("labels", "annotations")
"""The metadata that a conversion may change; the API server refuses or ignores other changes."""


@set_module("masthead.webhook")
class ConversionError(MastheadError):
    """Raised by a conversion that cannot convert an object; its message is the reason in the client's response."""


@set_module("masthead.webhook")
@dataclass(frozen=True, slots=True)
class ConversionSpec:
    """A declared conversion from one version to another.

    Attributes:
        source: The class of the objects to convert.
        target: The class of the converted objects.
        function: Takes an object of the source class, and returns one of the target class.

    Raises:
        ArgumentError: If the classes are not versions of one custom resource, or the function takes other arguments.
    """

    source: type[CustomResource]
    target: type[CustomResource]
    function: Callable[[Any], object]

    def __post_init__(self) -> None:
        for cls in (self.source, self.target):
            given = cast("object", cls)
            if not isinstance(given, type) or not issubclass(given, CustomResource) or not given.GVK.kind:
                raise ArgumentError(f"{cls!r} is not the class of a custom resource", value=cls)
        source, target = self.source.GVK, self.target.GVK
        if source.group_kind != target.group_kind or source.version == target.version:
            raise ArgumentError(
                f"{source} and {target} are not two versions of one kind; write @manager.convert(WebsiteV1alpha1, "
                "Website)",
                value=self.function,
            )
        given = cast("object", self.function)
        if isinstance(given, type) or not callable(given):
            raise ArgumentError(f"a conversion is a function, not {given!r}", value=given)
        if inspect.isgeneratorfunction(given) or inspect.isasyncgenfunction(given):
            raise ArgumentError(f"{_title(given)} is a generator function: return the converted object", value=given)
        try:
            inspect.signature(given).bind(0)
        except (TypeError, ValueError):
            raise ArgumentError(f"{_title(given)} cannot be called as convert(obj)", value=given) from None

    @property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function."""
        return is_coroutine_function(self.function)

    def __repr__(self) -> str:
        return f"<ConversionSpec {self.source.GVK} to {self.target.GVK.version}>"


class Converters:
    """The conversions of all custom resources of a manager.

    A conversion without a direct function goes through the storage version, so that a kind with n versions needs
    2 (n - 1) functions.

    Args:
        specs: The declared conversions.

    Raises:
        ConfigError: If a served version cannot be converted to and from the storage version.
    """

    def __init__(self, specs: Iterable[ConversionSpec]) -> None:
        self._specs: dict[tuple[str, str, GroupKind], ConversionSpec] = {}
        for spec in specs:
            self._specs[spec.source.GVK.version, spec.target.GVK.version, spec.source.GVK.group_kind] = spec
        self.kinds: dict[GroupKind, list[type[CustomResource]]] = {}
        """The converted kinds, with the classes of their versions."""
        for cls in dict.fromkeys(cls for spec in self._specs.values() for cls in (spec.source, spec.target)):
            self.kinds.setdefault(cls.GVK.group_kind, []).append(cls)
        self._hubs = {kind: self._check_kind(kind, classes) for kind, classes in self.kinds.items()}

    @property
    def is_async(self) -> bool:
        """Whether a function is a coroutine function."""
        return any(spec.is_async for spec in self._specs.values())

    def find(self, kind: GroupKind, source: str, target: str) -> Sequence[ConversionSpec]:
        """Return the functions that convert from one version to another, in the order of their calls.

        Raises:
            ConversionError: If no function is declared.
        """
        direct = self._specs.get((source, target, kind))
        if direct is not None:
            return (direct,)
        hub = self._hubs.get(kind, "")
        steps = (self._specs.get((source, hub, kind)), self._specs.get((hub, target, kind)))
        if steps[0] is None or steps[1] is None:
            raise ConversionError(f"no conversion of {kind} from {source} to {target} is declared")
        return (steps[0], steps[1])

    def _check_kind(self, kind: GroupKind, classes: Sequence[type[CustomResource]]) -> str:
        """Check that all served versions are convertible, and return the storage version."""
        storage = [cls.GVK.version for cls in classes if options_of(cls).storage]
        if len(storage) != 1:
            raise ConfigError(
                f"{kind} has {len(storage)} storage versions among {', '.join(cls.GVK.version for cls in classes)}; "
                "write storage=False in the classes of all versions but one"
            )
        hub = storage[0]
        for cls in classes:
            version = cls.GVK.version
            if version == hub or not options_of(cls).served:
                continue
            for source, target in ((version, hub), (hub, version)):
                if (source, target, kind) not in self._specs:
                    raise ConfigError(
                        f"{kind} is served in {version} and stored in {hub}, but there is no conversion from {source} "
                        f"to {target}; declare it with @manager.convert"
                    )
        return hub


def restore_metadata(source: dict[str, Any], converted: dict[str, Any]) -> dict[str, Any]:
    """Return a converted object with the metadata that the API server requires.

    Only labels and annotations may differ from the source. Metadata copied from the source is final. A new object
    without labels or annotations gets the source's.

    Raises:
        ConversionError: If the function has changed name, namespace or uid.
    """
    original = cast("dict[str, Any]", source.get("metadata") or {})
    given = cast("dict[str, Any]", converted.get("metadata") or {})
    for field in ("name", "namespace", "uid"):
        if given.get(field) and given[field] != original.get(field):
            raise ConversionError(f"the conversion has changed metadata.{field} to {given[field]!r}")
    is_copy = bool(given.get("uid"))
    metadata = {key: value for key, value in original.items() if key not in _MUTABLE_METADATA}
    for field in _MUTABLE_METADATA:
        value = given.get(field) if is_copy else given.get(field) or original.get(field)
        if value:
            metadata[field] = value
    return {**converted, "metadata": metadata}


def decode_source(cls: type[CustomResource], raw: dict[str, Any]) -> CustomResource:
    """Decode an object to convert.

    Raises:
        ConversionError: If it does not match its class.
    """
    try:
        return cls.from_wire(wire.encode(raw))
    except DecodeError as error:
        raise ConversionError(str(error)) from None


def encode_converted(spec: ConversionSpec, converted: object) -> dict[str, Any]:
    """Encode the result of a conversion as plain data.

    Raises:
        ConversionError: If the function returned an object of another class, or the object cannot be encoded.
    """
    if not isinstance(converted, spec.target):
        raise ConversionError(
            f"the conversion {_title(spec.function)} returned {_describe(converted)} instead of a "
            f"{spec.target.GVK.kind} of {spec.target.GVK.version}"
        )
    try:
        return cast("dict[str, Any]", msgspec.json.decode(cast("Object", converted).to_json()))
    except (DecodeError, ArgumentError) as error:
        raise ConversionError(str(error)) from None


def _describe(converted: object) -> str:
    return "nothing" if converted is None else f"a {type(converted).__name__}"


def _title(function: object) -> str:
    return str(getattr(function, "__qualname__", None) or repr(function))
