"""The keywords of a custom resource's class: names, columns, scale, conversion."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import msgspec

from masthead._meta.gvk import GroupVersionKind
from masthead._meta.resource import Resource, Subresource
from masthead._module import set_module

__all__ = [
    "Columns",
    "ConversionWebhook",
    "Options",
    "PrinterColumn",
    "ScaleSubresource",
]

if TYPE_CHECKING:
    ColumnType: TypeAlias = Literal["", "boolean", "date", "integer", "number", "string"]

_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_SUBRESOURCE_VERBS: Final = ("get", "patch", "update")
_SCALE: Final = GroupVersionKind("autoscaling", "v1", "Scale")


@set_module("masthead.crd")
class PrinterColumn(msgspec.Struct, frozen=True):
    """A column of ``kubectl get``.

    Attributes:
        json_path: The path of the value: ``.spec.replicas``.
        type: The type of the value; empty for the type of the field.
        format: The format of the value, such as ``int32`` or ``date-time``.
        priority: 0 for a standard column, more for a column of ``-o wide``.
        description: The description for ``kubectl explain``.
    """

    json_path: str
    type: Literal["", "boolean", "date", "integer", "number", "string"] = ""
    format: str = ""
    priority: int = 0
    description: str = ""


@set_module("masthead.crd")
class ScaleSubresource(msgspec.Struct, frozen=True):
    """The paths of an object's scale, for ``kubectl scale`` and autoscalers.

    Attributes:
        spec_replicas: The path of the desired number of replicas: ``.spec.replicas``.
        status_replicas: The path of the current number of replicas: ``.status.replicas``.
        label_selector: The path of the pods' selector as text: ``.status.selector``; autoscalers need it.
    """

    spec_replicas: str
    status_replicas: str
    label_selector: str = ""


@set_module("masthead.crd")
class ConversionWebhook(msgspec.Struct, frozen=True, kw_only=True):
    """The webhook that converts objects between versions: a service of the cluster, or a URL.

    Attributes:
        service: The service as ``namespace/name``.
        path: The path at the service.
        port: The port of the service.
        url: The URL, instead of a service.
        ca_bundle: The PEM certificates that verify the webhook's certificate.
        review_versions: The supported versions of ConversionReview.
    """

    service: str = ""
    path: str = "/convert"
    port: int = 443
    url: str = ""
    ca_bundle: bytes = b""
    review_versions: tuple[str, ...] = ("v1",)

    def to_plain(self) -> dict[str, Any]:
        """Return the ``conversion`` of a definition."""
        config: dict[str, Any] = {"url": self.url} if self.url else {"service": self._service()}
        if self.ca_bundle:
            config["caBundle"] = base64.b64encode(self.ca_bundle).decode()
        webhook = {"clientConfig": config, "conversionReviewVersions": list(self.review_versions)}
        return {"strategy": "Webhook", "webhook": webhook}

    def _service(self) -> dict[str, Any]:
        namespace, _, name = self.service.partition("/")
        return {"namespace": namespace, "name": name, "path": self.path, "port": self.port}


Columns: TypeAlias = Mapping[str, "str | PrinterColumn"]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """The keywords of a custom resource's class, with defaults."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    namespaced: bool
    columns: dict[str, PrinterColumn]
    has_status: bool
    scale: ScaleSubresource | None
    served: bool
    storage: bool
    deprecated: bool
    deprecation_warning: str
    conversion: ConversionWebhook | None
    selectable_fields: tuple[str, ...]

    @property
    def gvk(self) -> GroupVersionKind:
        """The kind."""
        return GroupVersionKind(self.group, self.version, self.kind)

    @property
    def name(self) -> str:
        """The name of the definition."""
        return f"{self.plural}.{self.group}"

    def resource(self) -> Resource:
        """Return the resource that serves the kind."""
        # The status has the kind of the object; the scale is an object of autoscaling/v1.
        found = {"status": self.gvk} if self.has_status else {}
        if self.scale is not None:
            found["scale"] = _SCALE
        return Resource(
            self.plural,
            singular=self.singular,
            namespaced=self.namespaced,
            verbs=_VERBS,
            short_names=self.short_names,
            categories=self.categories,
            subresources=tuple(Subresource(name, kind, _SUBRESOURCE_VERBS) for name, kind in found.items()),
        )


def columns_of(given: Columns) -> dict[str, PrinterColumn]:
    """Return columns; a text is the path of a column."""
    return {name: PrinterColumn(column) if isinstance(column, str) else column for name, column in given.items()}


def scale_of(given: ScaleSubresource | Sequence[str] | None) -> ScaleSubresource | None:
    """Return the paths of a scale, each with a leading dot."""
    if given is None:
        return None
    paths = msgspec.structs.astuple(given) if isinstance(given, ScaleSubresource) else tuple(given)
    return ScaleSubresource(*(dotted(path) for path in paths))


def dotted(path: str) -> str:
    """Return a path with a leading dot."""
    # The path of the selector is optional.
    return path if not path or path.startswith((".", "[")) else f".{path}"
