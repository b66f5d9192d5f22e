"""Restarts of workloads by an annotation of the pod template, as ``kubectl rollout restart`` does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from masthead._client.patch_verbs import PatchVerbs
from masthead._client.read_verbs import ReadVerbs
from masthead._meta.object import Object
from masthead._meta.patch import Patch
from masthead._module import set_module
from masthead._schema.field_paths import parse_path, value_at
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from masthead._meta.gvk import GroupVersionKind

__all__ = ["RestartVerbs", "can_restart", "restart_patch"]

T = TypeVar("T", bound=Object)

RESTARTED_AT: Final = "kubectl.kubernetes.io/restartedAt"
_GROUPS: Final = frozenset({"apps", "extensions"})
_KINDS: Final = frozenset({"Deployment", "DaemonSet", "StatefulSet"})
_PAUSED: Final = parse_path("spec.paused")
_LAST: Final = parse_path(f'spec.template.metadata.annotations["{RESTARTED_AT}"]')


def can_restart(gvk: GroupVersionKind) -> bool:
    """Whether objects of a kind can be restarted."""
    return gvk.group in _GROUPS and gvk.kind in _KINDS


def restart_patch(obj: Object, now: datetime) -> Patch:
    """The patch that restarts a workload.

    Raises:
        ArgumentError: If its kind cannot be restarted, or it is a paused deployment.
    """
    if not can_restart(obj.gvk):
        raise ArgumentError(
            f"restart {obj.kind} {obj.key}: only deployments, daemon sets and stateful sets can be restarted",
            value=obj.kind,
        )
    # The API server would accept the change, and nothing would restart.
    if value_at(obj, _PAUSED):
        raise ArgumentError(
            f"restart {obj.kind} {obj.key}: the deployment is paused; resume it first, by setting spec.paused to false",
            value=obj.key,
        )
    at = _restart_time(value_at(obj, _LAST), now).strftime("%Y-%m-%dT%H:%M:%SZ")
    return Patch.strategic({"spec": {"template": {"metadata": {"annotations": {RESTARTED_AT: at}}}}})


def _restart_time(last: object, now: datetime) -> datetime:
    """The time to annotate, in whole seconds and later than the last one; with the same time, nothing would restart."""
    at = now.astimezone(UTC).replace(microsecond=0)
    try:
        before = datetime.fromisoformat(last).astimezone(UTC) if isinstance(last, str) else None
    except ValueError:
        return at
    # Seconds only: a second restart within one second must still change the template.
    return at if before is None or before < at else before + timedelta(seconds=1)


@set_module("masthead.aio.clientset")
class RestartVerbs(ReadVerbs[T], PatchVerbs[T], Generic[T]):
    """For workloads whose pods can be replaced by a rollout."""

    async def restart(
        self,
        name: str,
        *,
        dry_run: bool = False,
        field_manager: str | None = None,
        timeout: float | None = None,
    ) -> T:
        """Replace all pods of a workload by a new rollout, as ``kubectl rollout restart`` does.

        Args:
            name: The name of the workload.
            dry_run: Run validation and admission without storing anything.
            field_manager: The field manager to record; None for the client's default.
            timeout: Timeout of each call, in seconds; None for the client's default.

        Returns:
            The object as the server stored it. To wait for the new pods, use
            ``wait_for(name, conditions.deployment_rolled_out())``.

        Raises:
            NotFoundError: If the object does not exist.
            ArgumentError: If it is a paused deployment, or of a kind that cannot be restarted.
        """
        found = await self.get(name, timeout=timeout)
        return await self.patch(
            name,
            restart_patch(found, datetime.now(UTC)),
            dry_run=dry_run,
            field_manager=field_manager,
            timeout=timeout,
        )
