"""What a kind knows about the resource that serves it."""

from __future__ import annotations

import msgspec

from masthead._meta.gvk import GroupVersionKind


class Subresource(msgspec.Struct, frozen=True):
    """A part of an object with verbs of its own, such as ``status`` or ``scale``.

    Attributes:
        name: As it stands in the path.
        kind: What is read and written there.
        verbs: What it takes.
    """

    name: str
    kind: GroupVersionKind
    verbs: tuple[str, ...]


class Resource(msgspec.Struct, frozen=True):
    """Where objects of a kind are served.

    Attributes:
        name: The plural, as it stands in the path: ``pods``.
        singular: ``pod``; may be left out for kinds of one's own.
        namespaced: Whether objects live in a namespace.
        verbs: What the resource takes; empty for one whose subresources alone are served.
        short_names: What kubectl accepts: ``po``.
        categories: Groups of resources that kubectl lists together: ``all``.
        subresources: The parts with verbs of their own.
        removed_in: The Kubernetes release that stopped serving it: ``1.16``; None if it is served, or if that is not known.
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
        """A sentence that says since when it is not served, and what to use instead; empty if it is served."""
        return removal_sentence(self.removed_in, self.replacement) if self.replacement else ""

    def subresource(self, name: str) -> Subresource | None:
        """Find a subresource by its name."""
        return next((each for each in self.subresources if each.name == name), None)


def removal_sentence(release: str | None, *replacements: str) -> str:
    """Say since which release something is not served, and what to use instead."""
    since = f"since Kubernetes {release}" if release else "by current releases of Kubernetes"
    return f"Not served {since}: use {' or '.join(replacements)}."
