"""`CustomResource`: a class with annotations is the CustomResourceDefinition."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast, dataclass_transform

from masthead._customresource.definitions import checked_schema, definition_of
from masthead._customresource.names import check_options, plural_of
from masthead._customresource.options import Options, columns_of, dotted, scale_of
from masthead._customresource.schemas import schema_of_resource
from masthead._meta.gvk import GroupVersionKind
from masthead._meta.kinds import KindType, ObjectType
from masthead._meta.model import field
from masthead._meta.object import Object, ObjectList
from masthead._meta.registry import registry
from masthead._meta.slots import annotations_in
from masthead._module import set_module
from masthead.errors import CustomResourceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._customresource.new import New
    from masthead._customresource.options import Columns, ConversionWebhook, ScaleSubresource
    from masthead._schema.schema import Rule, Schema
    from masthead.api.apiextensions.v1 import CustomResourceDefinition

__all__ = ["CustomResource"]

_STATUS: Final = "status"


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field,))
class CustomResourceType(ObjectType):
    """The metaclass of custom resources: names the kind, creates its list, and checks its definition."""

    def __new__(  # noqa: PLR0913 - each is an option of its own
        cls,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        /,
        *,
        group: str = "",
        version: str = "",
        kind: str = "",
        plural: str = "",
        singular: str = "",
        short_names: Sequence[str] = (),
        categories: Sequence[str] = (),
        namespaced: bool = True,
        columns: Columns | None = None,
        status_subresource: bool | None = None,
        scale: ScaleSubresource | Sequence[str] | None = None,
        served: bool = True,
        storage: bool = True,
        deprecated: bool | str = False,
        conversion: ConversionWebhook | None = None,
        selectable_fields: Sequence[str] = (),
        rules: Sequence[Rule | str] = (),
        **config: Any,  # noqa: ANN401 - msgspec's own
    ) -> CustomResourceType:
        """Create the class of a custom resource; see `CustomResource`."""
        if "api_type" in config or not (group or version):
            # A substitute, or a base class without a kind.
            return cast("CustomResourceType", super().__new__(cls, name, bases, namespace, rules=rules, **config))
        _check_bases(name, bases, namespace)
        fields = {*annotations_in(namespace), *(name for base in bases for name in _fields_of(base))}
        # The names follow from the class, as controller-tools derives them from Go types.
        kind = kind or name
        singular = singular or kind.lower()
        options = Options(
            group=group,
            version=version,
            kind=kind,
            plural=plural or plural_of(singular),
            singular=singular,
            short_names=_texts(short_names, "short_names", name),
            categories=_texts(categories, "categories", name),
            namespaced=namespaced,
            columns=columns_of(columns or {}),
            # Without the subresource, everyone who may write the object could write its status.
            has_status=_STATUS in fields if status_subresource is None else status_subresource,
            scale=scale_of(scale),
            served=served,
            storage=storage,
            deprecated=bool(deprecated),
            deprecation_warning=deprecated if isinstance(deprecated, str) else "",
            conversion=conversion,
            selectable_fields=tuple(dotted(text) for text in _texts(selectable_fields, "selectable_fields", name)),
        )
        check_options(options, name)
        namespace |= {"GVK": options.gvk, "RESOURCE": options.resource()}
        made = cast("CustomResourceType", super().__new__(cls, name, bases, namespace, rules=rules, **config))
        type.__setattr__(made, "_options", options)
        _complete(cast("type[CustomResource]", made))
        return made


def _texts(given: Sequence[str], what: str, name: str) -> tuple[str, ...]:
    # A string is a sequence of strings, too: its letters would become short names.
    if isinstance(given, str):
        raise CustomResourceError(f"{what} is a list of strings, not a string: [{given!r}]", path=name)
    return tuple(given)


def _fields_of(base: type) -> tuple[str, ...]:
    return cast("tuple[str, ...]", getattr(base, "__struct_fields__", ()))


def _check_bases(name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> None:
    for base in bases:
        # An instance of the subclass would pass as an object of the base's kind.
        if issubclass(base, Object) and base.GVK.kind:
            raise CustomResourceError(
                f"{base.__name__} is a kind already; have what they share in a base class without a group",
                path=name,
            )
    if fixed := sorted({"api_version", "kind", "metadata"}.intersection(annotations_in(namespace))):
        raise CustomResourceError(f"{fixed[0]} is a field of every object, and cannot be declared", path=name)


def _complete(cls: type[CustomResource]) -> None:
    """Check a class, create its list, and register both."""
    with contextlib.suppress(NameError):  # a type that is defined further down: checked on first use
        schema_of(cls)
    gvk = cls.GVK
    namespace = {
        "__module__": cls.__module__,
        "__qualname__": f"{cls.__qualname__}.LIST",  # where pickle finds it
        "__doc__": f"A list of {gvk.kind} objects.",
        "GVK": GroupVersionKind(gvk.group, gvk.version, f"{gvk.kind}List"),
        "ITEM": cls,
    }
    made = cast("Any", KindType)(f"{cls.__name__}List", (ObjectList,), namespace)
    type.__setattr__(cls, "LIST", made)
    registry.register(cls)
    registry.register(cast("type[ObjectList[Any]]", made))


def options_of(cls: type[CustomResource]) -> Options:
    """Return the options of a custom resource.

    Raises:
        CustomResourceError: If the class has no group and version, as a base of other classes.
    """
    # On the declared class itself: an inherited value would be that of another kind.
    found = vars(cls.api_type).get("_options")
    if found is None:
        raise CustomResourceError("the class has no group and version, so that it defines nothing", path=cls.__name__)
    return cast("Options", found)


def schema_of(cls: type[CustomResource]) -> Schema:
    """Return the cached schema of a custom resource.

    Raises:
        CustomResourceError: If it has no valid schema.
        NameError: If a type is not defined yet.
    """
    options = options_of(cls)
    declared = cast("type[CustomResource]", cls.api_type)
    found = vars(declared).get("_schema")
    if found is None:  # two threads may both build it, with equal results
        found = checked_schema(declared, options)
        type.__setattr__(declared, "_schema", found)
    return cast("Schema", found)


def _documented_schema_of(declared: type[CustomResource]) -> Schema:
    """Return the cached schema with the docstrings of classes and fields, whose parsing takes long."""
    found = vars(declared).get("_documented_schema")
    if found is None:
        found = schema_of_resource(declared, documented=True)
        type.__setattr__(declared, "_documented_schema", found)
    return cast("Schema", found)


def definition_of_classes(classes: Sequence[type[CustomResource]]) -> CustomResourceDefinition:
    """Return the definition of a kind whose versions are classes.

    Raises:
        CustomResourceError: If a class has no schema, or the versions are inconsistent.
    """
    versions: list[tuple[Options, Schema]] = []
    for cls in classes:
        try:
            schema_of(cls)  # checks it
            declared = cast("type[CustomResource]", cls.api_type)
            versions.append((options_of(cls), _documented_schema_of(declared)))
        except NameError as error:
            raise CustomResourceError(
                f"{error}; import it, and not for type checkers only", path=cls.__name__
            ) from error
    return definition_of(versions)


@set_module("masthead")
class CustomResource(Object, metaclass=CustomResourceType):
    """The base of custom resources.

    A subclass with a group and a version is a kind. Its annotations are the schema::

        class Website(CustomResource, group="example.com", version="v1", columns={"Replicas": ".spec.replicas"}):
            spec: WebsiteSpec
            status: WebsiteStatus

    It works like a generated class: with clients, informers, listers, `validate` and the embedded server.
    `to_crd` returns its CustomResourceDefinition.

    The keywords of the class are ``group`` and ``version``; ``kind``, ``plural``, ``singular``, ``short_names``,
    ``categories`` and ``namespaced``; ``columns`` of ``kubectl get``; ``status_subresource``, on if there is a field
    ``status``; ``scale`` (`ScaleSubresource`, or its paths); ``served``, ``storage`` and ``deprecated`` (true, or the
    warning) of this version; ``conversion`` (`ConversionWebhook`); ``selectable_fields``; and ``rules`` (`Rule`) about
    the whole object.

    Raises:
        CustomResourceError: When the class is created, if the server would reject its definition.
    """

    LIST: ClassVar[type[ObjectList[Any]]]
    """The class of lists of this kind."""

    if TYPE_CHECKING:
        new: ClassVar[New]  # pyright: ignore[reportIncompatibleMethodOverride]

    @classmethod
    def to_crd(cls, *versions: type[CustomResource]) -> CustomResourceDefinition:
        """Return the CustomResourceDefinition.

        Args:
            versions: The classes of the other versions of the kind.

        Raises:
            CustomResourceError: If the versions are inconsistent, or a type is not defined.
        """
        return definition_of_classes((cls, *versions))
