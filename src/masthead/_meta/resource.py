"""The resource that serves a kind."""

from __future__ import annotations

import msgspec

from masthead._meta.gvk import GroupVersionKind
from masthead._module import set_module


@set_module("masthead.meta")
class Subresource(msgspec.Struct, frozen=True):
    """A subresource, such as ``status`` or ``scale``.

    Attributes:
        name: Its name in the path.
        kind: The kind that it reads and writes.
        verbs: The supported verbs.
    """

    name: str
    kind: GroupVersionKind
    verbs: tuple[str, ...]


@set_module("masthead.meta")
class Resource(msgspec.Struct, frozen=True):
    """The resource of a kind.

    Attributes:
        name: The plural, as in the path: ``pods``.
        singular: ``pod``; optional for custom kinds.
        namespaced: Whether objects are namespaced.
        verbs: The supported verbs; empty if only subresources are served.
        short_names: Short names for kubectl: ``po``.
        categories: Categories for kubectl: ``all``.
        subresources: Its subresources.
        removed_in: The Kubernetes release that stopped serving it: ``1.16``; None if it is served.
        replacement: The API version that serves the kind instead: ``apps/v1``; None if the resource is served.
    """

    name: str
    singular: str = ""
    namespaced: bool = True
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    removed_in: str | None = None
    replacement: str | None = None

    @property
    def removal(self) -> str:
        """A sentence with the release that removed it and its replacement; empty if it is served."""
        return removal_sentence(self.removed_in, self.replacement) if self.removed_in and self.replacement else ""

    def subresource(self, name: str) -> Subresource | None:
        """Find a subresource by its name."""
        return next((subresource for subresource in self.subresources if subresource.name == name), None)


def removal_sentence(release: str, *replacements: str) -> str:
    """Say since which release something is not served, and what to use instead."""
    return f"Not served since Kubernetes {release}: use {' or '.join(replacements)}."
