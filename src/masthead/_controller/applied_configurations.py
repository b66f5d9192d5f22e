"""Applied configurations: proof that another apply would change nothing, so that no request is needed."""

from __future__ import annotations

import functools
import hashlib
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

import msgspec

from masthead._meta.gvk import GroupVersionKind
from masthead._schema.builtin.server_defaults import unowned_fields_of, without_added_tolerations
from masthead._schema.extraction import builtin_class
from masthead._schema.field_sets import FieldSet
from masthead._schema.structured_merge.class_types import merge_type_of_class, merge_type_of_fields
from masthead._schema.structured_merge.extraction import extract_items
from masthead._schema.structured_merge.items import UnidentifiedItemError
from masthead._schema.structured_merge.unchanged import contains_configuration, owned_fields_of
from masthead.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._meta.object import Object
    from masthead._schema.structured_merge.types import MergeType

__all__ = ["AppliedConfigurations", "Configuration"]

_MAX_ENTRIES: Final = 100_000
"""Number of remembered objects; others are compared field by field, or applied again."""
_DIGEST_BYTES: Final = 16
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_POD: Final = GroupVersionKind("", "v1", "Pod")
_Key: TypeAlias = tuple[str, str, str]
_encode: Final = msgspec.json.Encoder(order="deterministic").encode


class Configuration:
    """The configuration of an object that a field manager applies.

    Args:
        plain: The configuration, without a resource version.
        gvk: Its kind.
        resource: The resource, such as ``deployments.apps``.
        field_manager: The field manager.

    Attributes:
        key: The object and the manager.
        digest: Equal for equal configurations.
    """

    def __init__(self, plain: dict[str, Any], gvk: GroupVersionKind, resource: str, field_manager: str) -> None:
        metadata = plain["metadata"]
        name, namespace = metadata.get("name", ""), metadata.get("namespace", "")
        self.key: Final[_Key] = (resource, f"{namespace}/{name}" if namespace else name, field_manager)
        self.digest: Final = _digest(_encode(plain))
        self._plain = plain
        self._gvk = gvk
        self._field_manager = field_manager
        self._class = builtin_class(gvk)
        self._fields: FieldSet | None = None

    def is_comparable(self, live: Object) -> bool:
        """Whether an object has the same API version, and managed fields."""
        return live.gvk == self._gvk and bool(live.metadata.managed_fields)

    def is_proven(self, live: Object, *, allow_additions: bool = False) -> bool:
        """Whether an object itself proves that applying the configuration would change nothing.

        Args:
            live: The object.
            allow_additions: Whether additional fields are defaults, as in the response to an apply.
        """
        if self._field_manager == "kubectl" and _LAST_APPLIED in live.metadata.annotations:
            return False  # the server updates the annotation
        try:
            plain = _to_plain(live)
            # Values before owners, because most changes are changes of a value.
            if self._class is not None and not self._is_contained(
                plain, merge_type_of_class(self._class), allow_additions
            ):
                return False
            owned = self._owned_fields(plain)
            if owned is None:
                return False
            of = self._type(owned)
            unowned = FieldSet() if self._class is None else unowned_fields_of(self._class)
            if self._applied_fields(of).without_trees(unowned) != owned:
                return False
            return self._class is not None or self._is_contained(plain, of, allow_additions)
        except (DecodeError, UnidentifiedItemError):
            return False

    def _is_contained(self, live: dict[str, Any], of: MergeType, allow_additions: bool) -> bool:
        if self._gvk == _POD:
            live = without_added_tolerations(live, self._sent)
        return contains_configuration(live, self._sent, of, allow_additions=allow_additions)

    def state_of(self, live: Object) -> bytes:
        """Return the digest of the fields that the manager owns or applies, with their owner; empty if unknown."""
        try:
            plain = _to_plain(live)
            owned = self._owned_fields(plain)
            if owned is None:
                return b""
            of = self._type(owned)
            applied = self._applied_fields(of)
            # Usually equal, and the union of two sets is slower than their comparison.
            fields = owned if applied == owned else owned | applied
            state = (owned.to_fields_v1(), extract_items(plain, fields, of))
        except (DecodeError, UnidentifiedItemError):
            return b""
        return _digest(_encode(state))

    @functools.cached_property
    def _sent(self) -> dict[str, Any]:
        """The configuration without the fields that the server ignores."""
        sent = dict(self._plain)
        resource = None if self._class is None else self._class.RESOURCE
        if resource is not None and resource.subresource("status") is not None:
            sent.pop("status", None)
        if sent["metadata"].get("creationTimestamp", "") is None:
            sent["metadata"] = {
                name: sent["metadata"][name] for name in sent["metadata"] if name != "creationTimestamp"
            }
        return sent

    def _owned_fields(self, live: Mapping[str, Any]) -> FieldSet | None:
        """Return the fields that the manager has applied; None if it has applied them in another version.

        Raises:
            DecodeError: If the managed fields are invalid.
        """
        version = self._plain["apiVersion"]
        entries = [
            entry
            for entry in live["metadata"].get("managedFields") or ()
            if entry.get("operation") == "Apply"
            and entry.get("manager") == self._field_manager
            and not entry.get("subresource")
        ]
        if not entries:
            return FieldSet()
        # A manager may have applied several API versions with different fields.
        entry = next((entry for entry in entries if entry.get("apiVersion") == version), None)
        return None if entry is None else FieldSet.from_fields_v1(entry.get("fieldsV1") or {})

    def _applied_fields(self, of: MergeType) -> FieldSet:
        """Return the fields that the manager owns after applying the configuration."""
        # The merge type of a custom kind depends on the managed fields of the object.
        if self._class is None:
            return owned_fields_of(self._sent, of)
        if self._fields is None:
            self._fields = owned_fields_of(self._sent, of)
        return self._fields

    def _type(self, owned: FieldSet) -> MergeType:
        return merge_type_of_fields(owned) if self._class is None else merge_type_of_class(self._class)


class _Applied(NamedTuple):
    """The last configuration of an object.

    Attributes:
        digest: The digest of the configuration.
        uid: The uid of the object.
        version: A version of the object that the configuration does not change.
        state: The fields of the configuration at that version; empty if they are unknown.
    """

    digest: bytes
    uid: str
    version: str
    state: bytes


class AppliedConfigurations:
    """Remembers the configurations that were applied to objects, with the resulting versions.

    The response to an apply includes the effects of the server: defaults, rounded quantities, changes by admission
    webhooks. As long as the configuration, and the values and owners of its fields, are the same, another apply would
    change nothing. After a restart, the managed fields and values of the object have to prove it.
    """

    def __init__(self) -> None:
        self._known: OrderedDict[_Key, _Applied] = OrderedDict()

    def remember(self, config: Configuration, applied: Object, *, is_creation: bool) -> None:
        """Remember the response to an apply.

        Args:
            config: The configuration.
            applied: The object in the response.
            is_creation: Whether the apply may have created the object. Admission may change only new objects; then the
                configuration has to be applied once more.
        """
        # Forgotten, so that the next reconcile applies the configuration once more.
        if is_creation and not config.is_proven(applied, allow_additions=True):
            self._known.pop(config.key, None)
        else:
            self._put(config, applied, config.state_of(applied))

    def covers(self, config: Configuration, live: Object) -> bool:
        """Whether applying a configuration to an object would provably change nothing."""
        known = self._known.get(config.key)
        uid, version = live.metadata.uid, live.metadata.resource_version
        is_same = known is not None and known.digest == config.digest and known.uid == uid
        # The common case: nothing has changed since the last apply, and nothing is decoded.
        if known is not None and is_same and known.version == version != "":
            self._known.move_to_end(config.key)
            return True
        if not config.is_comparable(live):
            return False
        state = known.state if known is not None and is_same else b""
        # The object has a new version, for example by its status, but the same fields of this manager.
        if state and config.state_of(live) == state:
            self._put(config, live, state)
            return True
        if config.is_proven(live):
            self._put(config, live, b"")
            return True
        return False

    def _put(self, config: Configuration, live: Object, state: bytes) -> None:
        metadata = live.metadata
        self._known[config.key] = _Applied(config.digest, metadata.uid, metadata.resource_version, state)
        self._known.move_to_end(config.key)
        # The least recently used entry; losing it costs one comparison or one needless request.
        if len(self._known) > _MAX_ENTRIES:
            self._known.popitem(last=False)


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()


def _to_plain(live: Object) -> dict[str, Any]:
    """Return the plain data of an object in the server's response."""
    source = live.wire_bytes
    if source is None:
        return live.to_dict()
    # Much faster than `to_dict`, which compares all sections that were read with their bytes.
    plain: dict[str, Any] = msgspec.json.decode(source)
    # The items of a list have neither apiVersion nor kind.
    return {"apiVersion": live.api_version, "kind": live.kind, **plain}
