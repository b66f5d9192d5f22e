"""The calls that apply one manifest, and read its object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._client.conflicts import retry_on
from masthead._client.migration import apply_and_migrate
from masthead._sansio.backoff import Attempts
from masthead.errors import NotFoundError

if TYPE_CHECKING:
    from masthead._client.manifest_resources import Manifest, ManifestClient
    from masthead._client.options import FieldValidation
    from masthead._meta.unstructured import Unstructured

__all__ = ["ManifestOptions", "apply_one", "read_one"]

_SOON: Final = Attempts(count=6, first=0.05, factor=2.0, jitter=0.1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestOptions:
    """How manifests are applied; see `apply_manifests`."""

    field_manager: str | None = None
    force: bool = False
    dry_run: bool = False
    field_validation: FieldValidation | None = None
    client_side: bool = False
    timeout: float | None = None


async def apply_one(client: ManifestClient, manifest: Manifest, options: ManifestOptions) -> Unstructured | None:
    """Apply one manifest.

    Returns:
        The object as the server stored it, or would store it. None for a dry run of an object whose kind or namespace
        the same manifests create: the server cannot dry-run it.

    Raises:
        MastheadError: As any apply.
    """

    async def send() -> Unstructured:
        resource = manifest.at(client)
        if options.client_side:
            return await resource.apply_client_side(
                manifest.obj,
                field_manager=options.field_manager,
                dry_run=options.dry_run,
                field_validation=options.field_validation,
                timeout=options.timeout,
            )
        # Also migrates objects that kubectl applied client-side, or their removed fields would stay.
        return await apply_and_migrate(
            resource,
            manifest.obj,
            field_manager=options.field_manager,
            force=options.force,
            dry_run=options.dry_run,
            field_validation=options.field_validation,
            timeout=options.timeout,
        )

    if not manifest.is_new:
        return await send()
    # A definition is established a moment before its kind is served.
    try:
        return await retry_on(send, NotFoundError, attempts=1 if options.dry_run else _SOON)
    except NotFoundError:
        # A dry run creates no definition, so objects of its kind cannot be checked.
        if not options.dry_run:
            raise
        return None


async def read_one(client: ManifestClient, manifest: Manifest, timeout: float | None) -> Unstructured | None:
    """Read the object of a manifest; None if it does not exist.

    Raises:
        MastheadError: As any get.
    """
    try:
        return await manifest.at(client).get(manifest.name, timeout=timeout)
    except NotFoundError:
        return None
