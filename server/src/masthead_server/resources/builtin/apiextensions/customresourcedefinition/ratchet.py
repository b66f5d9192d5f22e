"""Ratcheting: violations in a stored definition that an update may leave unchanged."""

from __future__ import annotations

from functools import cached_property

from masthead._schema.errors import gather
from masthead._schema.structural import structural_errors
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.conditions import (
    ESTABLISHED,
    is_condition_true,
)
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.conversion_webhook import (
    KNOWN_REVIEWS,
)
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.internal import (
    InternalSpec,
    same,
    tree_of,
)
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.schema_reports import RatchetingRules
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.schemas import (
    has_bad_map_keys,
    has_invalid_type,
    has_non_atomic_set,
    unsupported_problem,
)
from masthead_server.resources.validation.ca_bundles import has_certificates
from masthead_server.wire.plain import Plain, part, text

__all__ = ["Ratchet"]


class Ratchet:
    """Decides from the stored definition which rules an update is exempt from.

    Args:
        old: The stored definition; None if a new one is validated, which no rule is relaxed for.
    """

    def __init__(self, old: Plain | None) -> None:
        self._old = old
        self._spec = InternalSpec.of(old) if old is not None else None

    @property
    def is_established(self) -> bool:
        """Whether the definition is established; some names cannot change then."""
        return self._old is not None and is_condition_true(self._old, ESTABLISHED)

    @property
    def preserves_unknown(self) -> bool:
        """Whether objects preserve unknown fields."""
        return self._spec is not None and self._spec.preserves_unknown

    @cached_property
    def allows_missing_schema(self) -> bool:
        """Whether a version had no schema."""
        if self._spec is None or self._spec.shared.schema is not None:
            return False
        return any(version.schema is None for version in self._spec.versions)

    @cached_property
    def allows_non_structural(self) -> bool:
        """Whether a schema was not structural."""
        return self._spec is not None and any(map(_is_non_structural, self._spec.schemas()))

    def ratcheting(self, *, is_structural: bool, is_unchanged: bool) -> RatchetingRules:
        """Return the violations that a stored schema excuses.

        Args:
            is_structural: Whether the schema must be structural.
            is_unchanged: Whether the schema is a stored one.
        """
        spec = self._spec
        # A new definition gets no exemption; only the caller decides whether it must be structural.
        if spec is None:
            return RatchetingRules(allow_non_structural=not is_structural)
        return RatchetingRules(
            allow_non_structural=not is_structural,
            # One violation anywhere in the stored definition exempts all schemas, as in kube-apiserver.
            allow_unknown_types=spec.has_schema_with(has_invalid_type),
            allow_any_set=spec.has_schema_with(has_non_atomic_set),
            allow_any_keys=spec.has_schema_with(has_bad_map_keys),
            of_defaults=any(map(_has_unpruned_default, spec.schemas())),
            of_costs=is_unchanged,
        )

    @property
    def allows_unknown_reviews(self) -> bool:
        """Whether the webhook got no version of ConversionReview that the server sends."""
        versions = self._webhook.get("conversionReviewVersions") or ()
        # An empty list was never accepted, so that it excuses nothing.
        return bool(versions) and not set(versions) & set(KNOWN_REVIEWS)

    @property
    def allows_bad_ca_bundle(self) -> bool:
        """Whether the certificates of the webhook need not be valid; establishing the definition needs them."""
        # Before it is established, `established_status` reports the bundle in a condition instead.
        if not self.is_established:
            return True
        bundle = text(part(self._webhook, "clientConfig"), "caBundle")
        return bool(bundle) and not has_certificates(bundle)

    @property
    def _webhook(self) -> Plain:
        return part(part(part(self._old or {}, "spec"), "conversion"), "webhook")

    def has_schema(self, version: str, schema: Plain) -> bool:
        """Tell whether a version already had this schema."""
        return self._spec is not None and same(self._spec.schema_of(version), schema)

    def has_selectable(self, version: str, fields: list[Plain]) -> bool:
        """Tell whether a version, or all of them if it is empty, already had these selectable fields."""
        if self._spec is None:
            return False
        if not version:
            return same(self._spec.shared.selectable, fields)
        return any(other.name == version and same(other.selectable, fields) for other in self._spec.versions)


def _has_unpruned_default(schema: Plain) -> bool:
    from masthead_server.resources.builtin.apiextensions.customresourcedefinition.default_values import (
        has_unpruned_default,
    )

    # The tree of a schema that is not structural cannot be pruned.
    return not _is_non_structural(schema) and has_unpruned_default(tree_of(schema))


def _is_non_structural(schema: Plain) -> bool:
    if unsupported_problem(schema):
        return True
    return bool(gather(lambda: structural_errors(tree_of(schema), "")))
