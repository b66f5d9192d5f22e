"""The code of a resource: defaulting, registry strategy, validation, warnings and conversion, as hooks.

A resource's description (`masthead_server.resources.description`) names the module that has its `Behavior`, which
is imported with the first request that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

from masthead._schema.errors import FieldError
from masthead_server.wire.plain import Plain, part

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.resources.scale import ScaleView
    from masthead_server.wire.failures import StatusFailure
    from masthead_server.wire.user_info import UserInfo

Errors: TypeAlias = list[FieldError]
"""The errors of a validation, in the order in which kube-apiserver reports them."""


class AccessChecks(Protocol):
    """Answers questions of a validation about the cluster and about the user who writes."""

    @property
    def verb(self) -> str:
        """The verb of the request: ``create``, ``update`` or ``patch``."""
        ...

    @property
    def user(self) -> UserInfo:
        """Who writes."""
        ...

    def namespace_labels(self) -> Plain:
        """Return the labels of the object's namespace."""
        ...

    def find_refusal(self, verb: str, subresource: str, *, name: str = "", in_namespace: bool = False) -> str:
        """Return why the user may not use a subresource of the same resource; empty if it is allowed.

        Args:
            verb: What for.
            subresource: The subresource, which need not be served.
            name: The name of the object; empty for all.
            in_namespace: Whether it is about the object's namespace, rather than all.
        """
        ...


class SlowValidation(Exception):  # noqa: N818 - a request for a thread, not an error
    """A validation would hold the event loop.

    Attributes:
        find: Finds the errors, in any thread.
    """

    def __init__(self, find: Callable[[], Errors]) -> None:
        super().__init__("an object is to be validated in a thread")
        self.find = find


Fill: TypeAlias = Callable[[Plain], None]
"""Sets the defaults of a struct in place."""


def _record_nothing(_obj: Plain, _user: UserInfo) -> None:
    pass


def _prepare_nothing(_obj: Plain, _allocate: Allocator) -> None:
    pass


def _finish_nothing(_obj: Plain) -> None:
    pass


def _carry_nothing(_new: Plain, _old: Plain) -> None:
    pass


def _change_nothing(_new: Plain, _old: Plain, _allocate: Allocator) -> None:
    pass


def _accept(_obj: Plain) -> Errors:
    return []


def _accept_change(_new: Plain, _old: Plain) -> Errors:
    return []


def _admit(_obj: Plain, _allocate: Allocator) -> StatusFailure | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyHooks:
    """The registry strategy of one resource, on top of what holds for every object.

    On create the order is: `admit_create`, `record_user`, `prepare_create`, `validate_create`, `finish_create`. The
    object already has its name, uid, namespace and defaults, and the initial status of its kind.
    On update it is: `reallocate`, `prepare_update`, `validate_update`; the status is already the stored one. On a
    write of the status it is: `prepare_status`, `validate_status`; all but the status is already the stored one.
    Every hook gets objects in the stored version, whatever version the client speaks.

    Attributes:
        admit_create: Returns why an object is not admitted, or None: its definition is being deleted.
        record_user: Records the creator in an object that has a field for that.
        prepare_create: Sets what the server decides. Raises `StatusFailure` if it cannot.
        reallocate: Allocates and releases addresses and ports. Raises `StatusFailure` if it cannot.
        prepare_update: Keeps what an update may leave out or cannot change.
        check_access: Returns the errors of a new object, or of a change of the object or its status, that depend on
            the namespace or the user. They come before all others.
        validate_create: Returns the errors of a new object. A hook for validation may raise `SlowValidation` instead.
        validate_update: Returns the errors of a change.
        finish_create: Sets what kube-apiserver sets only when it decodes the stored object, after validation.
        prepare_status: Sets what the server decides about a status.
        validate_status: Returns the errors of a new status.
    """

    admit_create: Callable[[Plain, Allocator], StatusFailure | None] = _admit
    record_user: Callable[[Plain, UserInfo], None] = _record_nothing
    prepare_create: Callable[[Plain, Allocator], None] = _prepare_nothing
    reallocate: Callable[[Plain, Plain, Allocator], None] = _change_nothing
    prepare_update: Callable[[Plain, Plain], None] = _carry_nothing
    check_access: Callable[[Plain, Plain | None, AccessChecks], Errors] | None = None
    validate_create: Callable[[Plain], Errors] = _accept
    validate_update: Callable[[Plain, Plain], Errors] = _accept_change
    finish_create: Callable[[Plain], None] = _finish_nothing
    prepare_status: Callable[[Plain, Plain, Allocator], None] = _change_nothing
    validate_status: Callable[[Plain, Plain], Errors] = _accept_change


NO_HOOKS: Final = StrategyHooks()
"""The strategy of a resource that adds nothing to what holds for every object."""


def _warn_of_nothing(_obj: Plain) -> list[str]:
    return []


def _warn_of_no_change(_new: Plain, _old: Plain) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class WarningHooks:
    """The warnings of one resource, as the texts of ``Warning`` headers in kube-apiserver's order.

    Attributes:
        on_create: Takes a new object, valid and with its name.
        on_update: Takes an object's next state, with its next generation, and the stored one.
    """

    on_create: Callable[[Plain], list[str]] = _warn_of_nothing
    on_update: Callable[[Plain, Plain], list[str]] = _warn_of_no_change


NO_WARNINGS: Final = WarningHooks()
"""The warnings of a resource that has none."""


def always(check: Callable[[Plain], list[str]]) -> WarningHooks:
    """Return hooks that give the same warnings on create and on every update."""
    return WarningHooks(check, lambda new, _: check(new))


def when_changed(check: Callable[[Plain], list[str]]) -> Callable[[Plain, Plain], list[str]]:
    """Return an update hook that warns only if the update raises the generation."""
    return lambda new, old: check(new) if has_changed(new, old) else []


def has_changed(new: Plain, old: Plain) -> bool:
    """Tell whether an update raises the generation."""
    return part(new, "metadata").get("generation") != part(old, "metadata").get("generation")


class Conversion(NamedTuple):
    """Converts objects of one version to the stored version and back.

    The functions leave ``apiVersion`` and ``kind`` to the caller, never change the object that they are given, and
    share with it the parts that stay the same.
    """

    to_storage: Callable[[Plain], Plain]
    from_storage: Callable[[Plain], Plain]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubresourceBehavior:
    """The code of one subresource that is written as the object itself, such as ``status`` or ``resize``.

    Attributes:
        merge: Returns the stored object with what a write to the subresource may change, given the sent object and
            the stored one. None for ``status``, which `masthead_server.resources.strategy.Strategy` describes.
        raises_generation: Whether its changes raise the generation, as those of the object itself do.
        hooks: Its strategy; only `StrategyHooks.prepare_status` and `StrategyHooks.validate_status` are called.
            A write of the status has the hooks of the resource instead.
        warnings: Its warnings.
    """

    merge: Callable[[Plain, Plain], Plain] | None = None
    raises_generation: bool = False
    hooks: StrategyHooks = NO_HOOKS
    warnings: WarningHooks = NO_WARNINGS


NO_SUBRESOURCE: Final = SubresourceBehavior()
"""The behavior of a subresource without specific code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Behavior:
    """The code of one resource.

    Attributes:
        defaults: Sets defaults, on every read and write; applied twice it changes nothing more. None for none.
        defaults_by_version: Replaces `defaults` in the versions that it names.
        default_times: Sets times whose default is now, which is the second argument. None for none.
        hooks: The registry strategy; for a write of the status, too.
        warnings: The warnings of the resource itself.
        subresources: The subresources that have code of their own, by name.
        begin_deletion: Changes an object when its deletion begins, given the time; it adds the finalizer that holds the
            object until its controller has cleaned up. None for most.
        delete_warning: The warning of a DELETE that does not say what becomes of dependents; empty for none.
        review: Prepares the validation of a body, an object or a merge patch of any form. It runs in a thread, so that
            other requests are served during that time.
        conversions: How objects are converted, by version; a version that has the stored shape is not there.
        scale: What the scale subresource shows and changes; None for the replicas and the LabelSelector of the spec.
    """

    defaults: Fill | None = None
    defaults_by_version: Mapping[str, Fill] = field(default_factory=dict[str, Fill])
    default_times: Callable[[Plain, str], None] | None = None
    hooks: StrategyHooks = NO_HOOKS
    warnings: WarningHooks = NO_WARNINGS
    subresources: Mapping[str, SubresourceBehavior] = field(default_factory=dict[str, SubresourceBehavior])
    begin_deletion: Callable[[Plain, str], None] | None = None
    delete_warning: str = ""
    review: Callable[[Plain], None] = _finish_nothing
    conversions: Mapping[str, Conversion] = field(default_factory=dict[str, Conversion])
    scale: ScaleView | None = None


_NO_BEHAVIOR: Final = Behavior()


def no_behavior() -> Behavior:
    """Return the behavior of a resource without specific code."""
    return _NO_BEHAVIOR
