"""Declarations of a controller: the kinds that it watches, and its reconciler."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeAlias, TypedDict, TypeVar, cast

from masthead._cache.callables import check_plain, is_coroutine_function
from masthead._cache.factory.selection import ListSelectors, check_selectors, namespaces_of, resource_of
from masthead._controller.predicates import Predicate, predicate_of
from masthead._controller.reconcile_signatures import check_arguments
from masthead._meta.gvk import GroupVersion, GroupVersionResource
from masthead._meta.object import Object
from masthead._module import set_module
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from typing import Unpack

    from masthead._client.options import FieldSelection, LabelSelection
    from masthead._controller.predicates import PredicateLike

__all__ = [
    "KindLike",
    "Mapper",
    "Owns",
    "Reads",
    "ReconcileFunction",
    "Reconciler",
    "Role",
    "SelectionArguments",
    "WatchSpec",
    "Watches",
    "check_annotations",
    "kind_of",
    "positional_count",
]

T = TypeVar("T", bound=Object)

KindLike: TypeAlias = type[Object] | GroupVersionResource | str
"""A class; or a resource, also written ``apps/v1/deployments``, whose objects are `Unstructured`."""
Mapper: TypeAlias = Callable[..., object]
"""Called with an object, and with the caches if it takes a second argument; returns the objects to reconcile."""
Role: TypeAlias = Literal["for", "owns", "watches", "reads"]


def kind_of(given: KindLike) -> type[Object] | GroupVersionResource:
    """Return the class or the resource of a kind.

    Raises:
        ArgumentError: If it is neither a class nor a resource.
        UnknownKindError: If the class has no resource.
    """
    if isinstance(given, str):
        version, slash, plural = given.rpartition("/")
        # A capital letter means a kind, such as ``apps/v1/Deployment``, which is a common mistake.
        if not slash or not plural or not plural.islower():
            raise ArgumentError(f"{given!r} is not a resource such as 'apps/v1/deployments' or 'v1/pods'", value=given)
        return GroupVersion.parse(version).resource(plural)
    resource_of(given)
    return given


@set_module("masthead.controller")
class SelectionArguments(TypedDict, total=False):
    """The objects of a kind to list, watch and cache.

    Attributes:
        namespace: Only objects of one namespace or of several; None for the manager's namespaces.
        label_selector: Only objects with matching labels.
        field_selector: Only objects with matching fields.
    """

    namespace: str | Sequence[str] | None
    label_selector: LabelSelection | None
    field_selector: FieldSelection | None


@set_module("masthead.controller")
class CheckedSelection(TypedDict):
    """A valid selection."""

    namespace: tuple[str, ...] | None
    label_selector: LabelSelection | None
    field_selector: FieldSelection | None


def check_selection(selection: SelectionArguments) -> CheckedSelection:
    """Check a selection of objects.

    Raises:
        ArgumentError: If a namespace is invalid.
        SelectorError: If a selector is invalid.
    """
    namespace = selection.get("namespace")
    selectors = check_selectors(
        ListSelectors(label_selector=selection.get("label_selector"), field_selector=selection.get("field_selector"))
    )
    return {
        "namespace": None if namespace is None else namespaces_of(namespace),
        "label_selector": selectors.label_selector,
        "field_selector": selectors.field_selector,
    }


@set_module("masthead.controller")
@dataclass(frozen=True, slots=True)
class WatchSpec:
    """A kind that a controller watches or reads.

    Attributes:
        kind: The class, or the resource.
        role: ``for`` for the reconciled kind; ``owns``, ``watches`` or ``reads``.
        mapper: For ``watches``: maps a changed object to the objects to reconcile.
        predicate: A filter for changes; None for all changes.
        any_owner: For ``owns``: whether to reconcile all owners instead of the controller alone.
        namespace: Only objects of these namespaces; None for the manager's namespaces.
        label_selector: Only objects with matching labels.
        field_selector: Only objects with matching fields.
    """

    kind: type[Object] | GroupVersionResource
    role: Role
    mapper: Mapper | None = None
    predicate: Predicate | None = None
    any_owner: bool = False
    namespace: tuple[str, ...] | None = None
    label_selector: LabelSelection | None = None
    field_selector: FieldSelection | None = None

    @property
    def resource(self) -> GroupVersionResource:
        """The resource."""
        return resource_of(self.kind)

    @property
    def selection(self) -> CheckedSelection:
        """The objects to cache."""
        return {
            "namespace": self.namespace,
            "label_selector": self.label_selector,
            "field_selector": self.field_selector,
        }


@set_module("masthead.controller")
class Declaration(Generic[T]):
    """The base of `Owns`, `Watches` and `Reads`."""

    def __init__(self, spec: WatchSpec) -> None:
        self._spec = spec

    @property
    def spec(self) -> WatchSpec:
        """The declared kind and its options."""
        return self._spec

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._spec.resource.group_resource})"


@set_module("masthead.controller")
class Owns(Declaration[T]):
    """A kind whose objects are owned by reconciled objects. A change of an object reconciles its owner.

    Args:
        kind: The class, or the resource.
        predicate: A filter for changes; see `masthead.predicates`.
        any_owner: Whether to reconcile all owners of the reconciled kind instead of the controller alone.
        selection: The objects to cache: ``namespace``, ``label_selector`` and ``field_selector``.

    Raises:
        ArgumentError: If an argument is invalid.
        SelectorError: If a selector is invalid.
        UnknownKindError: If the class has no resource.
    """

    def __init__(
        self,
        kind: type[T] | GroupVersionResource | str,
        *,
        predicate: PredicateLike | None = None,
        any_owner: bool = False,
        **selection: Unpack[SelectionArguments],
    ) -> None:
        super().__init__(
            WatchSpec(
                kind_of(kind),
                "owns",
                predicate=predicate_of(predicate),
                any_owner=any_owner,
                **check_selection(selection),
            )
        )


@set_module("masthead.controller")
class Watches(Declaration[T]):
    """Another kind to watch, with a function that maps a changed object to the objects to reconcile.

    Args:
        kind: The class, or the resource.
        mapper: A plain function. It is called with the object before and after a change, and returns the objects to
            reconcile: requests, keys or objects, one or several, or None. A second argument receives the controller's
            `CacheReader`. Errors are logged, and the call is retried.
        predicate: A filter for changes; see `masthead.predicates`.
        selection: The objects to cache: ``namespace``, ``label_selector`` and ``field_selector``.

    Raises:
        ArgumentError: If an argument is invalid.
        SelectorError: If a selector is invalid.
        UnknownKindError: If the class has no resource.
    """

    def __init__(
        self,
        kind: type[T] | GroupVersionResource | str,
        mapper: Callable[[T], object] | Callable[..., object],
        *,
        predicate: PredicateLike | None = None,
        **selection: Unpack[SelectionArguments],
    ) -> None:
        check_plain("a mapper", mapper)
        _check_mapper(mapper)
        super().__init__(
            WatchSpec(
                kind_of(kind),
                "watches",
                mapper=mapper,
                predicate=predicate_of(predicate),
                **check_selection(selection),
            )
        )


@set_module("masthead.controller")
class Reads(Declaration[T]):
    """A kind that a controller only reads from the cache. Changes do not reconcile anything.

    Args:
        kind: The class, or the resource.
        selection: The objects to cache: ``namespace``, ``label_selector`` and ``field_selector``.

    Raises:
        ArgumentError: If an argument is invalid.
        SelectorError: If a selector is invalid.
        UnknownKindError: If the class has no resource.
    """

    def __init__(self, kind: type[T] | GroupVersionResource | str, **selection: Unpack[SelectionArguments]) -> None:
        super().__init__(
            WatchSpec(
                kind_of(kind),
                "reads",
                **check_selection(selection),
            )
        )


def owned_specs(owns: Iterable[KindLike | Owns[Any]]) -> list[WatchSpec]:
    """Return the specs of owned kinds.

    Raises:
        ArgumentError: If an item is neither a kind nor an `Owns`.
    """
    return [(item if isinstance(item, Owns) else Owns[Any](item)).spec for item in _items("owns", owns)]


def read_specs(reads: Iterable[KindLike | Reads[Any]]) -> list[WatchSpec]:
    """Return the specs of kinds to read.

    Raises:
        ArgumentError: If an item is neither a kind nor a `Reads`.
    """
    return [(item if isinstance(item, Reads) else Reads[Any](item)).spec for item in _items("reads", reads)]


def watched_specs(watches: Mapping[Any, Mapper] | Iterable[Watches[Any]]) -> list[WatchSpec]:
    """Return the specs of watched kinds: a dict from kinds to mappers, or a list.

    Raises:
        ArgumentError: If the argument is neither.
    """
    if isinstance(watches, Mapping):
        mappers = cast("Mapping[Any, Mapper]", watches)
        return [Watches[Any](kind, mapper).spec for kind, mapper in mappers.items()]
    found: list[WatchSpec] = []
    for item in _items("watches", watches):
        if not isinstance(item, Watches):
            raise ArgumentError(
                f"watches has {item!r}; give a dict from kinds to functions, or a list of masthead.controller.Watches",
                value=item,
            )
        found.append(item.spec)
    return found


def _check_mapper(mapper: Mapper) -> None:
    """Check that a mapper can be called.

    Raises:
        ArgumentError: If it takes neither an object, nor an object and the cache.
    """
    try:
        signature = inspect.signature(mapper)
    except ValueError:  # some functions written in C have none
        return
    try:
        signature.bind(*range(max(1, min(2, positional_count(mapper)))))
    except TypeError as error:
        raise ArgumentError(
            f"the mapper {_title(mapper)} cannot be called as mapper(obj) or mapper(obj, cache): {error}",
            value=mapper,
        ) from None


def _items(name: str, given: Iterable[Any]) -> list[Any]:
    if isinstance(given, str | bytes | type) or not isinstance(cast("object", given), Iterable):
        raise ArgumentError(f"{name} must be a list, and is {given!r}", value=given)
    return list(given)


@set_module("masthead.controller")
class Reconciler(Protocol):
    """An object with a plain or async method ``reconcile(ctx)`` or ``reconcile(ctx, obj)``."""

    @property
    def reconcile(self) -> Callable[..., object]:
        """The method."""
        ...


@set_module("masthead.controller")
@dataclass(frozen=True, slots=True)
class ReconcileFunction:
    """A reconciler: a function, or a class or object with a method ``reconcile``.

    Attributes:
        given: The function, the class, or an object with a method ``reconcile``.
        is_async: Whether it is a coroutine function; a plain function runs in a thread.
        takes_object: Whether it takes the object in addition to the context.
        takes_missing: Whether it is called for deleted objects.
    """

    given: object
    is_async: bool
    takes_object: bool
    takes_missing: bool

    @classmethod
    def of(cls, given: object) -> ReconcileFunction:
        """Inspect a function, a class, or an object with a method ``reconcile``.

        Raises:
            ArgumentError: If it cannot be called as ``reconcile(ctx)`` or ``reconcile(ctx, obj)``, is a generator
                function, or is a class whose constructor needs arguments.
        """
        function = _function_of(given)
        if isinstance(given, type):
            _check_constructor(given)
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise ArgumentError(
                f"{_title(given)} is a generator function, whose body would not run: return instead of yield",
                value=given,
            )
        parameters = _parameters_of(function, is_method=isinstance(given, type))
        if len(parameters) not in {1, 2}:
            raise ArgumentError(
                f"{_title(given)} takes {len(parameters)} arguments; it is called as reconcile(ctx) or "
                "reconcile(ctx, obj)",
                value=given,
            )
        takes_object = len(parameters) == 2
        takes_missing = not takes_object or _accepts_none(parameters[1])
        return cls(given, is_coroutine_function(function), takes_object, takes_missing)

    def bind(self) -> Callable[..., object]:
        """Return the function to call for each reconcile; a class is instantiated.

        Raises:
            Exception: Whatever the constructor of the class raises.
        """
        if isinstance(self.given, type):
            return cast("Callable[..., object]", self.given().reconcile)
        method = getattr(self.given, "reconcile", None)
        return cast("Callable[..., object]", method if callable(method) else self.given)


def check_annotations(given: object, kind: object) -> None:
    """Check that the annotations of a reconciler agree with its arguments: the context, then the object.

    Args:
        given: A function, a class, or an object with a method ``reconcile``.
        kind: The reconciled kind.

    Raises:
        ArgumentError: If they do not.
    """
    function = _function_of(given)
    parameters = _parameters_of(function, is_method=isinstance(given, type))
    check_arguments(_title(given), function, parameters, kind, is_async=is_coroutine_function(function))


def _function_of(given: object) -> Callable[..., object]:
    # An object with a method takes precedence over a callable object.
    method: Callable[..., object] | None = getattr(given, "reconcile", None)
    if callable(method):
        return method
    if isinstance(given, type) or not callable(given):
        raise ArgumentError(
            f"{_title(given)} is no reconciler: give a function, or a class with a method reconcile(self, ctx, obj)",
            value=given,
        )
    return given


def _check_constructor(cls: type[object]) -> None:
    """Check that a class can be instantiated without arguments.

    Raises:
        ArgumentError: If it cannot.
    """
    try:
        signature = inspect.signature(cls)
    except ValueError:  # some classes written in C have none
        return
    try:
        signature.bind()
    except TypeError as error:
        name = _title(cls)
        raise ArgumentError(
            f"{name} cannot be created without arguments: {error}; register an instance: "
            f"app.controller(...)({name}(...))",
            value=cls,
        ) from None


def _parameters_of(function: Callable[..., object], *, is_method: bool) -> list[inspect.Parameter]:
    found = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind in {parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD}
        and parameter.default is parameter.empty
    ]
    # The method of a class still has `self`.
    return found[1:] if is_method else found


def _accepts_none(parameter: inspect.Parameter) -> bool:
    """Whether the annotation of a parameter allows None; a missing annotation does."""
    annotation = parameter.annotation
    if annotation is parameter.empty:
        return True
    if isinstance(annotation, str):
        # Not evaluated, because names that are imported for type checkers only would fail.
        return "None" in annotation or "Optional" in annotation or annotation in {"Any", "object"}
    return annotation in {Any, object, None} or type(None) in getattr(annotation, "__args__", ())


def positional_count(function: Callable[..., object]) -> int:
    """Return the number of required positional arguments of a function."""
    try:
        return len(_parameters_of(function, is_method=False))
    except ValueError:  # some functions written in C have no signature
        return 1


def _title(given: object) -> str:
    return str(getattr(given, "__qualname__", None) or repr(given))
