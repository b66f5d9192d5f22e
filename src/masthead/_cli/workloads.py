"""What the commands of ``rollout`` share: the workloads that they are about, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

import click

from masthead._cli.completion import complete_workloads
from masthead._cli.failures import CommandError, ExitCode, explain
from masthead._cli.manifest_files import file_options
from masthead._cli.references import parse_references, say_nothing_found
from masthead._cli.subjects import find_subjects, gvr_of, line_name, resource_of
from masthead._cli.terminal import report
from masthead._meta.plain import part

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import masthead
    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain
    from masthead._meta.unstructured import Unstructured

__all__ = ["SelectedWorkload", "WorkloadSelection", "run_for_each", "workload_options"]

F = TypeVar("F", bound="Callable[..., Any]")
"""Not that of ``apply``: the conflicts of a later one name the cause."""


class WorkloadSelection(TypedDict):
    """The arguments that select workloads."""

    references: tuple[str, ...]
    files: tuple[str, ...]
    kustomize: str | None
    selector: str | None


@dataclass(frozen=True, slots=True)
class SelectedWorkload:
    """A Deployment, DaemonSet or StatefulSet.

    Attributes:
        client: The client.
        obj: The object at the beginning of the command.
        resource: The client of its resource.
    """

    client: masthead.Client
    obj: Unstructured
    resource: masthead.clientset.DynamicResource

    @property
    def name(self) -> str:
        """Its name."""
        return self.obj.metadata.name

    @property
    def line_name(self) -> str:
        """Its name in lines: ``deployment.apps/web``."""
        return line_name(self.obj.to_dict())

    @property
    def is_paused(self) -> bool:
        """Whether its rollouts are paused."""
        return part(self.obj.to_dict(), "spec").get("paused") is True

    def patch(self, patch: masthead.meta.Patch, *, dry_run: bool = False) -> Plain:
        """Patch it.

        Raises:
            MastheadError: As any call.
        """
        return self.resource.patch(self.name, patch, dry_run=dry_run).to_dict()

    def restart(self) -> Plain:
        """Begin a rollout that replaces all pods.

        Raises:
            MastheadError: As any call.
        """
        return self.resource.restart(self.name).to_dict()


def workload_options(function: F) -> F:
    """Add the arguments that select workloads."""
    for option in (
        click.option("-l", "--selector", metavar="SELECTOR", help="only objects with these labels"),
        file_options,
        click.argument("references", nargs=-1, metavar="[KIND[/NAME] [NAME]...]", shell_complete=complete_workloads),
    ):
        function = option(function)
    return function


def run_for_each(
    state: State,
    selection: WorkloadSelection,
    act: Callable[[SelectedWorkload], None],
    *,
    refusal: str = "has no rollout",
    only_deployments: bool = False,
) -> int:
    """Call a function for every selected workload; the failure of one does not spare the others.

    Args:
        state: The shared options.
        selection: The arguments.
        act: The function.
        refusal: The words for objects of other kinds.
        only_deployments: Refuse DaemonSets and StatefulSets as well.

    Raises:
        CommandError: If arguments are wrong; or the last failure.
        MastheadError: As any call.
    """
    from masthead.errors import StatusError

    with state.connect() as client:
        subjects = _find(client, state, selection)
        if not subjects:
            say_nothing_found(client, client.namespace)
        errors: list[CommandError | StatusError] = []
        for subject in subjects:
            try:
                _refuse_other_kinds(state, client, subject, refusal, only_deployments=only_deployments)
                resource = resource_of(client, subject)
                act(SelectedWorkload(client, resource.get(subject["metadata"]["name"]), resource))
            # A lost connection, in contrast, fails for every object.
            except (CommandError, StatusError) as error:
                errors.append(error)
    # The last error ends the command, and is printed by the caller.
    for earlier in errors[:-1]:
        report(state.command_path, explain(earlier))
    if errors:
        raise errors[-1]
    return ExitCode.OK


def _find(client: masthead.Client, state: State, selection: WorkloadSelection) -> Sequence[Plain]:
    # Ignoring the selector would change more than the user wants.
    if selection["selector"] and selection["files"]:
        raise CommandError("-l selects objects of a kind, not those of manifests", code=ExitCode.USAGE)
    references = selection["references"]
    has_names = bool(references) and any(reference.names for reference in parse_references(references))
    return find_subjects(
        client,
        state,
        references,
        files=selection["files"],
        kustomize=selection["kustomize"],
        selector=selection["selector"],
        # As in kubectl, a kind alone means all objects of the namespace.
        is_all=not has_names,
        # A misspelt name ends the command before it has changed the other objects.
        must_exist=True,
    )


def _refuse_other_kinds(
    state: State, client: masthead.Client, subject: Plain, refusal: str, *, only_deployments: bool
) -> None:
    from masthead._client.restarts import can_restart
    from masthead._meta.gvk import GroupVersionKind

    gvk = GroupVersionKind.of(subject["apiVersion"], subject["kind"])
    # Rollouts and restarts are for the same kinds.
    if can_restart(gvk) and not (only_deployments and gvk.kind != "Deployment"):
        return
    kinds = "Deployments" if only_deployments else "Deployments, DaemonSets and StatefulSets"
    raise CommandError(
        f'{gvr_of(client, subject).group_resource} "{subject["metadata"]["name"]}" {refusal}',
        hint=f"{state.command_path} is for {kinds}",
        code=ExitCode.USAGE,
    )
