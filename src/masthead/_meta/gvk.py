"""Names of kinds and resources: group, version, kind and resource."""

from __future__ import annotations

from typing import Self

import msgspec

from masthead._module import set_module
from masthead.errors import ArgumentError


@set_module("masthead.meta")
class GroupVersion(msgspec.Struct, frozen=True, order=True):
    """An API group at one version, such as ``apps/v1``; the core group is empty."""

    group: str
    version: str

    @classmethod
    def parse(cls, api_version: str) -> Self:
        """Parse an ``apiVersion``, such as ``v1`` or ``apps/v1``.

        Raises:
            ArgumentError: If it is invalid.
        """
        group, slash, version = api_version.rpartition("/")
        if not version or bool(slash) != bool(group) or "/" in group:
            raise ArgumentError(f'"{api_version}" is not an API version such as "v1" or "apps/v1"', value=api_version)
        return cls(group, version)

    def __str__(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """The URL path: ``/api/v1`` or ``/apis/apps/v1``."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def kind(self, kind: str) -> GroupVersionKind:
        """Return a kind of this group and version."""
        return GroupVersionKind(self.group, self.version, kind)

    def resource(self, resource: str) -> GroupVersionResource:
        """Return a resource of this group and version."""
        return GroupVersionResource(self.group, self.version, resource)


@set_module("masthead.meta")
class GroupKind(msgspec.Struct, frozen=True, order=True):
    """A kind without a version."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


@set_module("masthead")
class GroupVersionKind(msgspec.Struct, frozen=True, order=True):
    """The type of an object: ``GroupVersionKind("apps", "v1", "Deployment")``."""

    group: str
    version: str
    kind: str

    @classmethod
    def of(cls, api_version: str, kind: str) -> Self:
        """Create it from an object's ``apiVersion`` and ``kind``.

        Raises:
            ArgumentError: If the API version is invalid.
        """
        parsed = GroupVersion.parse(api_version)
        return cls(parsed.group, parsed.version, kind)

    def __str__(self) -> str:
        return f"{self.api_version}, kind {self.kind}"

    @property
    def api_version(self) -> str:
        """The group and version in the form of ``apiVersion``."""
        return str(self.group_version)

    @property
    def group_version(self) -> GroupVersion:
        """The group and version."""
        return GroupVersion(self.group, self.version)

    @property
    def group_kind(self) -> GroupKind:
        """The kind without its version."""
        return GroupKind(self.group, self.kind)


@set_module("masthead")
class GroupVersionResource(msgspec.Struct, frozen=True, order=True):
    """The resource of a kind: ``GroupVersionResource("apps", "v1", "deployments")``."""

    group: str
    version: str
    resource: str

    def __str__(self) -> str:
        return f"{self.group_version}, resource {self.resource}"

    @property
    def group_version(self) -> GroupVersion:
        """The group and version."""
        return GroupVersion(self.group, self.version)

    @property
    def group_resource(self) -> str:
        """The resource without its version, as kubectl prints it: ``deployments.apps``, or ``pods``."""
        return f"{self.resource}.{self.group}" if self.group else self.resource
