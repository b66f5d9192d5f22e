"""Selection: namespace, label, field and shard selectors, matched against stored records."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._meta import fields, labels, typeinfo
from masthead.errors import SelectorError
from masthead_server.resources.selector_errors import field_problem, label_problem
from masthead_server.wire.body_limits import too_large
from masthead_server.wire.failures import StatusFailure, bad_request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.resources.resource import ServedResource
    from masthead_server.resources.shard_selectors import ShardSelector
    from masthead_server.storage import Record
    from masthead_server.wire.options import CollectionOptions

__all__ = ["SelectionPredicate"]

_VOID = frozenset({"=", "==", "!="})
"""Terms without a field and a value; kube-apiserver accepts them, and they select everything."""
_NO_PLACES = frozenset({".", ".."})
_BY_KEY = frozenset({"metadata.name", "metadata.namespace"})


class _Labelled(msgspec.Struct):
    """The part of an object that a label selector reads; the rest is skipped."""

    metadata: _Labels


class _Labels(msgspec.Struct):
    labels: dict[str, str] = {}


class _Identified(msgspec.Struct):
    """The part of an object that a shard selector reads."""

    metadata: _Identity


class _Identity(msgspec.Struct):
    uid: str = ""


_read_labels = typeinfo.json_decoder(_Labelled).decode
_read_uid = typeinfo.json_decoder(_Identified).decode


class SelectionPredicate:
    """Selects objects by namespace, labels, fields and shard.

    Args:
        served: The resource that is read.
        namespace: Empty for all.
        options: The selectors.
        name: Only the object of this name.

    Raises:
        StatusFailure: If a selector is invalid, or names a field that the resource does not support.
    """

    def __init__(self, served: ServedResource, namespace: str, options: CollectionOptions, *, name: str = "") -> None:
        for text in (options.label_selector, options.field_selector):
            _refuse_large(text)
        self.served = served
        self.prefix = f"{namespace}/" if namespace and served.is_namespaced else ""
        self._labels = _label_selector(options.label_selector)
        self._fields = _field_selector(served, options.field_selector)
        if name:
            self._fields &= fields.one("metadata.name", name)
        self._reads_object = any(term.key not in _BY_KEY for term in self._fields.requirements)
        self._shard = _shard_selector(options.shard_selector)
        if namespace in _NO_PLACES:  # the message of kube-apiserver's storage
            raise StatusFailure(500, "", f'invalid key: "/{served.name}/{namespace}"')

    @property
    def has_no_terms(self) -> bool:
        """Whether it selects neither by labels nor by fields."""
        return self._labels.is_empty and self._fields.is_empty

    @property
    def is_everything(self) -> bool:
        """Whether it selects by nothing but the namespace."""
        return self._shard is None and self.has_no_terms

    @property
    def shard(self) -> str:
        """The shard selector in its canonical form; empty without one."""
        return "" if self._shard is None else str(self._shard)

    @property
    def names_one(self) -> bool:
        """Whether it selects by the key of one object."""
        has_place = bool(self.prefix) or not self.served.is_namespaced
        terms = self._fields.requirements
        return has_place and any(
            term.key == "metadata.name" and term.operator is labels.Operator.EQUALS for term in terms
        )

    def among(self, records: Iterator[Record]) -> Iterator[Record]:
        """Filter records, all of which must be in the namespace."""
        return records if self.is_everything else filter(self.matches, records)

    def matches(self, record: Record) -> bool:
        """Tell whether it selects an object."""
        # The cheapest check first; labels are decoded once for each record.
        if not record.key.startswith(self.prefix):
            return False
        if self._shard is not None and not self._is_in_shard(record, self._shard):
            return False
        if not self._labels.is_empty:
            # Cached on the record, because many watches match the same write.
            if record.labels is None:
                record.labels = _read_labels(b"{" + record.value).metadata.labels
            if not self._labels.matches(record.labels):
                return False
        return self._fields.is_empty or self._fields.matches(self._values(record))

    def _is_in_shard(self, record: Record, shard: ShardSelector) -> bool:
        if not shard.is_by_uid:
            return shard.matches(shard.hash_namespace(self.served.split(record.key)[0]))
        if record.uid_hash is None:
            record.uid_hash = shard.hash(_read_uid(b"{" + record.value).metadata.uid)
        return shard.matches(record.uid_hash)

    def _values(self, record: Record) -> dict[str, str]:
        served = self.served
        namespace, name = served.split(record.key)
        found = {"metadata.name": name, "metadata.namespace": namespace}
        if self._reads_object:
            found |= served.selectable.values(served.load(record))
        return found


_SET: Final = re.compile(r"\([^()]*\)")
_MAX_TERMS: Final = 2_000
_MAX_SELECTOR_LENGTH: Final = 128 * 1024
"""The most terms and characters of a selector: each is parsed, and then matched against every object."""


def _refuse_large(selector: str) -> None:
    # The values of a set are cheap, however many they are.
    if len(selector) > _MAX_SELECTOR_LENGTH or _SET.sub("", selector).count(",") >= _MAX_TERMS:
        raise too_large(f"limit is {_MAX_TERMS} terms and {_MAX_SELECTOR_LENGTH} characters in a selector")


def _shard_selector(text: str) -> ShardSelector | None:
    if not text:
        return None
    from masthead_server.resources.shard_selectors import ShardSelectorError, parse  # with all of CEL

    try:
        return parse(text)
    except ShardSelectorError as error:
        raise StatusFailure(500, "", f"invalid shard selector: {error}") from None


def _label_selector(text: str) -> labels.Selector:
    try:
        return labels.parse(text)
    except SelectorError:
        raise bad_request(label_problem(text)) from None


def _field_selector(served: ServedResource, text: str) -> fields.FieldSelector:
    try:
        selector = fields.parse(text)
    except SelectorError:
        if text in _VOID:
            return fields.everything()
        raise bad_request(field_problem(text)) from None
    offered = served.selectable.names
    for term in selector.requirements:
        if term.key not in offered:
            raise bad_request(served.selectable.unsupported_message(term.key, served.gvk))
    return selector
