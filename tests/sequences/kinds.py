"""Kinds as sequences write them, and what all of them have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.sequences.player import NAMESPACE
from tests.sequences.shapes import Dictionary, Items, Plain, Scalar, Struct

TEXT = Scalar(("a", "b", "c"))
FEW = Scalar((0, 1, 2, 3))
YES_OR_NO = Scalar((True, False))
TIME = Scalar(("2020-01-01T00:00:00Z", "2020-01-02T00:00:00Z"))
STATE = Scalar(("True", "False", "Unknown"))

METADATA = Struct(
    {
        "labels": Dictionary(("app", "tier", "zone", "example.com/team"), TEXT),
        "annotations": Dictionary(("note", "owner", "example.com/hash"), TEXT),
        "finalizers": Items(Scalar(("example.com/a", "example.com/b", "example.com/c"))),
        "ownerReferences": Items(
            Struct(
                {
                    "uid": Scalar(("owner-1", "owner-2", "owner-3")),
                    "apiVersion": Scalar(("v1",)),
                    "kind": Scalar(("ConfigMap",)),
                    "name": TEXT,
                    "controller": YES_OR_NO,
                    "blockOwnerDeletion": YES_OR_NO,
                },
                ("uid", "apiVersion", "kind", "name"),
            ),
            ("uid",),
        ),
    },
    often=0.25,
)


@dataclass(frozen=True)
class Kind:
    """A kind, at one of its versions.

    Attributes:
        path: The path of its collection.
        api_version: Its version.
        name: The kind.
        shape: What its main resource takes, metadata included.
        minimum: What every new object has.
        status: What its status subresource takes.
        has_scale: Whether it has a scale subresource.
        has_strategic_patch: Whether it can be patched strategically.
    """

    path: str
    api_version: str
    name: str
    shape: Struct
    minimum: Any
    status: Struct | None = None
    has_scale: bool = False
    has_strategic_patch: bool = True

    @property
    def head(self) -> Plain:
        """What every body has."""
        return {"apiVersion": self.api_version, "kind": self.name, "metadata": {"name": "{name}"}}


def conditions(*types: str) -> Items:
    """Conditions of a status."""
    return Items(
        Struct(
            {
                "type": Scalar(types),
                "status": STATE,
                "reason": Scalar(("Good", "Bad")),
                "message": TEXT,
                "lastTransitionTime": TIME,
            },
            ("type", "status"),
        ),
        ("type",),
    )


def namespaced(api_version: str, plural: str) -> str:
    """The path of a collection in the namespace of the sequences."""
    root = "/apis" if "/" in api_version else "/api"
    return f"{root}/{api_version}/namespaces/{NAMESPACE}/{plural}"
