"""The signature of `CustomResource.new` for type checkers: its keywords are the sections of the class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Never, Protocol, TypeVar, overload

from masthead._module import set_module

if TYPE_CHECKING:
    from masthead._meta.object import Data, Object

__all__ = ["Maker", "New"]

R = TypeVar("R")
Spec = TypeVar("Spec")
Status = TypeVar("Status")
R_co = TypeVar("R_co", covariant=True)
Spec_co = TypeVar("Spec_co", covariant=True)
Status_co = TypeVar("Status_co", covariant=True)


class HasSpec(Protocol[Spec_co]):
    """A kind with a spec."""

    @property
    def spec(self) -> Spec_co:
        """Its spec."""
        ...


class HasSpecAndStatus(HasSpec[Spec_co], Protocol[Spec_co, Status_co]):
    """A kind with a spec and a status."""

    @property
    def status(self) -> Status_co:
        """Its status."""
        ...


class MakerOf(Generic[R_co]):
    """Creates objects; a separate class, because mypy compares `self` of an overload with the exact class."""


@set_module("masthead.crd")
class Maker(MakerOf[R_co]):
    """`CustomResource.new` of one class."""

    @overload
    def __call__(
        self: MakerOf[HasSpecAndStatus[Spec, Status]],
        name: str = "",
        *,
        namespace: str = "",
        generate_name: str = "",
        labels: dict[str, str] | None = None,
        annotations: dict[str, str] | None = None,
        spec: Spec | Data = ...,
        status: Status | Data = ...,
    ) -> R_co: ...
    @overload
    def __call__(
        self: MakerOf[HasSpec[Spec]],
        name: str = "",
        *,
        namespace: str = "",
        generate_name: str = "",
        labels: dict[str, str] | None = None,
        annotations: dict[str, str] | None = None,
        spec: Spec | Data = ...,
    ) -> R_co: ...
    @overload
    def __call__(
        self: MakerOf[Object],
        name: str = "",
        *,
        namespace: str = "",
        generate_name: str = "",
        labels: dict[str, str] | None = None,
        annotations: dict[str, str] | None = None,
        spec: Never = ...,
        status: Never = ...,
    ) -> R_co: ...
    def __call__(self, name: str = "", **given: object) -> R_co:
        """Create an object from its name, common metadata, and its sections."""
        raise NotImplementedError


class New:
    """The descriptor that knows the class."""

    def __get__(self, instance: R | None, owner: type[R]) -> Maker[R]:
        """Return the factory for objects of the class."""
        raise NotImplementedError
