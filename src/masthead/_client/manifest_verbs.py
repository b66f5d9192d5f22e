"""The verbs of a client for manifests: many objects of any kinds in one call.

The functions behind them are imported when they are called: most clients have nothing to do with manifests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

from masthead._client.clientset import Clientset
from masthead._module import set_module

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from masthead._client.apply_results import ApplyOutcome, ApplyResult
    from masthead._client.apply_sets import ApplySet
    from masthead._client.conditions import WaitCondition
    from masthead._client.diffs import DiffResult
    from masthead._client.manifests import ManifestClient, ManifestSource
    from masthead._client.options import FieldValidation
    from masthead._customresource.resource import CustomResource
    from masthead._meta.unstructured import Unstructured
    from masthead._meta.v1 import DeletionPropagation

__all__ = ["ManifestVerbs"]

_INSTALLER: Final = "masthead"
"""The field manager of definitions, unless another one is given."""


@set_module("masthead.aio.clientset")
class ManifestVerbs(Clientset):
    """The clientset, with verbs that apply, compare, restart, delete and wait for the objects of manifests."""

    async def apply_manifests(
        self,
        source: ManifestSource,
        *,
        namespace: str | None = None,
        field_manager: str | None = None,
        force: bool = False,
        dry_run: bool = False,
        field_validation: FieldValidation | None = None,
        client_side: bool = False,
        apply_set: str | ApplySet | None = None,
        prune: bool = False,
        wait_for_crds: bool = True,
        wait: bool = False,
        wait_timeout: float | None = None,
        on_applied: Callable[[Unstructured, ApplyOutcome], None] | None = None,
        timeout: float | None = None,
    ) -> ApplyResult:
        """Apply manifests: files, directories, text or objects of any kinds, in install order.

        Everything is read and checked before the first object is sent. CustomResourceDefinitions and
        namespaces come first; the kinds of a definition are waited for until they are served. An object that
        was applied client-side before is migrated, as ``kubectl apply --server-side`` does: see
        `ResourceClient.upgrade_managed_fields`.

        ::

            result = await client.apply_manifests(Path("deploy/"), field_manager="me", wait=True)
            print(result.text)

        Args:
            source: The path of a file or directory, YAML text, an object, plain data, or several of these.
            namespace: The namespace of objects that name none; None for the client's default.
            field_manager: The field manager; required here or as the client's default for server-side apply.
            force: Take over fields that other managers own; for server-side apply.
            dry_run: Run validation and admission without storing anything. An object whose kind or namespace
                is created by the same manifests cannot be dry-run: it is skipped, and a log line names it.
            field_validation: How the server treats unknown fields.
            client_side: Apply as `ResourceClient.apply_client_side` does, instead of with server-side apply.
            apply_set: The apply set of which the objects become members: its parent, as ``configmaps/web``, or an
                `ApplySet`.
            prune: Delete members of the apply set that are not in the manifests.
            wait_for_crds: Wait until the kinds of applied definitions are served.
            wait: Wait until all objects are ready, as `wait_for_manifests` does, and pruned objects are deleted; not
                after a dry run.
            wait_timeout: Seconds to wait for that; None for the client's default timeout.
            on_applied: Called with each applied object and the operation on it: for progress. It is
                called on the client's event loop, and must neither block nor call the client.
            timeout: Timeout of each call and of each wait for a definition, in seconds.

        Returns:
            The objects from the server's responses, in the order in which they were applied; the operation on
            each, and the pruned objects.

        Raises:
            ManifestError: If a manifest cannot be read or sent, or does not become ready; it names the object, and what
                was applied before it.
            ArgumentError: If `prune` is given without an apply set, or if the set is invalid or managed by another
                tool.
            MastheadError: If the parent of the apply set cannot be read.
        """
        from masthead._client.manifest_calls import ManifestOptions
        from masthead._client.manifests import apply_manifests

        return await apply_manifests(
            self._self(),
            source,
            ManifestOptions(
                field_manager=field_manager,
                force=force,
                dry_run=dry_run,
                field_validation=field_validation,
                client_side=client_side,
                timeout=timeout,
            ),
            namespace=namespace,
            apply_set=apply_set,
            prune=prune,
            wait_for_crds=wait_for_crds,
            wait=self._seconds(wait_timeout) if wait else None,
            on_applied=on_applied,
        )

    async def install_crds(
        self,
        *sources: ModuleType | type[CustomResource],
        field_manager: str | None = None,
        force: bool = False,
        timeout: float | None = None,
    ) -> ApplyResult:
        """Apply the CustomResourceDefinitions of classes, and wait until their kinds are served.

        ::

            await client.install_crds(Website)
            await client.resource(Website, "default").create(Website.new("blog", spec=WebsiteSpec(image="nginx")))

        Args:
            sources: Classes, and modules for all custom resources among their names; all versions of a kind.
            field_manager: The field manager; None for the client's default, or ``masthead``.
            force: Take over fields that other managers own.
            timeout: Timeout of each call and of each wait for a definition, in seconds.

        Returns:
            The definitions from the server's responses, and the operation on each.

        Raises:
            CustomResourceError: If there is no custom resource, or versions do not fit together.
            ManifestError: If the server refuses a definition, or does not serve its kinds in time.
        """
        from masthead._customresource.sources import crds

        manager = field_manager or self._context.defaults.field_manager or _INSTALLER
        return await self.apply_manifests(
            crds(*sources), field_manager=manager, force=force, timeout=timeout, wait_for_crds=True
        )

    async def diff_manifests(
        self,
        source: ManifestSource,
        *,
        namespace: str | None = None,
        field_manager: str | None = None,
        force: bool = False,
        field_validation: FieldValidation | None = None,
        client_side: bool = False,
        apply_set: str | ApplySet | None = None,
        timeout: float | None = None,
    ) -> DiffResult:
        """Compare the cluster with what it would be after `apply_manifests`, as ``kubectl diff`` does.

        ::

            diff = await client.diff_manifests(Path("deploy/"), field_manager="me")
            if diff.has_changes:
                print(diff.format())

        The server computes the new objects in a dry run; nothing is stored. Conflicts with other managers do not end
        it: the difference of such an object has the conflict, and shows the effect of `force`.

        Args:
            source: As for `apply_manifests`.
            namespace: The namespace of objects that name none; None for the client's default.
            field_manager: The field manager; required here or as the client's default for server-side apply.
            force: Take over fields that other managers own; for server-side apply.
            field_validation: How the server treats unknown fields.
            client_side: Compare with what `ResourceClient.apply_client_side` would do.
            apply_set: The apply set of which the objects would become members; the result includes members to be
                pruned.
            timeout: Timeout of each call, in seconds.

        Returns:
            The difference for each object, with a text as kubectl prints it.

        Raises:
            ManifestError: If a manifest cannot be read, or the server refuses some of them; it lists all of these.
            ArgumentError: If the apply set is invalid, or another tool manages it.
            TransportError: If there is no connection.
            MastheadError: If the parent or the members of the apply set cannot be read.
        """
        from masthead._client.diff_manifests import diff_manifests
        from masthead._client.manifest_calls import ManifestOptions

        return await diff_manifests(
            self._self(),
            source,
            ManifestOptions(
                field_manager=field_manager,
                force=force,
                field_validation=field_validation,
                client_side=client_side,
                timeout=timeout,
            ),
            namespace=namespace,
            apply_set=apply_set,
        )

    async def delete_manifests(
        self,
        source: ManifestSource,
        *,
        namespace: str | None = None,
        grace_period_seconds: int | None = None,
        propagation_policy: DeletionPropagation | None = None,
        dry_run: bool = False,
        on_deleted: Callable[[Unstructured], None] | None = None,
        timeout: float | None = None,
    ) -> Sequence[Unstructured]:
        """Delete the objects of manifests in reverse install order; objects that do not exist are skipped.

        To wait for the end of the deletion, use ``wait_for_manifests(source, conditions.deleted())``.

        Args:
            source: As for `apply_manifests`.
            namespace: The namespace of objects that name none; None for the client's default.
            grace_period_seconds: The grace period of each object, 0 to delete immediately; None for the object's
                default.
            propagation_policy: How dependents are treated.
            dry_run: Run validation and admission without deleting anything.
            on_deleted: Called with each object as soon as its deletion is accepted: for progress. It is called on the
                client's event loop, and must neither block nor call the client.
            timeout: Timeout of each call, in seconds.

        Returns:
            The objects that existed: as the server has them if their deletion is in progress, otherwise as in the
            manifests.

        Raises:
            ManifestError: If a manifest cannot be read, or its object cannot be deleted.
        """
        from masthead._client.manifests import delete_manifests

        return await delete_manifests(
            self._self(),
            source,
            namespace=namespace,
            grace_period_seconds=grace_period_seconds,
            propagation_policy=propagation_policy,
            dry_run=dry_run,
            on_deleted=on_deleted,
            timeout=timeout,
        )

    async def restart_manifests(
        self,
        source: ManifestSource,
        *,
        namespace: str | None = None,
        dry_run: bool = False,
        field_manager: str | None = None,
        timeout: float | None = None,
    ) -> Sequence[Unstructured]:
        """Restart the deployments, daemon sets and stateful sets among manifests; other objects are skipped.

        ::

            result = await client.apply_manifests(Path("deploy/"), field_manager="me")
            if result.has_changes:
                await client.restart_manifests(result)

        Args:
            source: The objects, or their manifests, as for `apply_manifests`.
            namespace: The namespace of objects that name none; None for the client's default.
            dry_run: Run validation and admission without storing anything.
            field_manager: The field manager to record; None for the client's default.
            timeout: Timeout of each call, in seconds.

        Returns:
            The workloads as the server stored them.

        Raises:
            ManifestError: If a manifest cannot be read, or its object cannot be restarted: it does not exist, or is a
                paused deployment.
        """
        from masthead._client.manifests import restart_manifests

        return await restart_manifests(
            self._self(),
            source,
            namespace=namespace,
            dry_run=dry_run,
            field_manager=field_manager,
            timeout=timeout,
        )

    async def wait_for_manifests(
        self,
        source: ManifestSource,
        condition: WaitCondition[Unstructured] | None = None,
        *,
        namespace: str | None = None,
        timeout: float | None = None,
    ) -> Sequence[Unstructured]:
        """Wait until all objects are ready, or until another condition holds for all of them.

        ::

            result = await client.apply_manifests(Path("deploy/"), field_manager="me")
            await client.wait_for_manifests(result, timeout=300)

        Objects are watched a few at a time.

        Args:
            source: The objects, such as the result of `apply_manifests`, or their manifests. They need not exist yet.
            condition: What to wait for; None for ``conditions.ready()``.
            namespace: The namespace of objects that name none; None for the client's default.
            timeout: Seconds to wait for all of them; None for the client's default, ``math.inf`` for no limit. With 0,
                each object is checked once.

        Returns:
            The objects for which the condition holds, in install order, without missing objects.

        Raises:
            DeadlineError: If the condition does not hold for all of them in time; the message names the others, with
                the reasons.
            ObjectFailedError: If an object has failed, such as a job.
            ManifestError: If an object has no name, or is of an unknown kind.
            ArgumentError: If the condition or the timeout is invalid.
            MastheadError: If a list or a watch fails, and the failure is not transient.
        """
        from masthead._client.wait_all import wait_for_manifests

        return await wait_for_manifests(
            self._self(), source, condition, namespace=namespace, timeout=self._seconds(timeout)
        )

    def _self(self) -> ManifestClient:
        return cast("ManifestClient", self)

    def _seconds(self, timeout: float | None) -> float:
        return self._context.rest.settings.timeout if timeout is None else timeout
