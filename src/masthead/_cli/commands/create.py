"""``masthead create``: creates the objects of manifests, or of options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import click

from masthead._cli.commands.create_access import clusterrole, clusterrolebinding, role, rolebinding
from masthead._cli.commands.create_configs import configmap, secret
from masthead._cli.commands.create_ingress import ingress
from masthead._cli.commands.create_policies import namespace, poddisruptionbudget, priorityclass, quota, serviceaccount
from masthead._cli.commands.create_services import service
from masthead._cli.commands.create_token import token
from masthead._cli.commands.create_workloads import cronjob, deployment, job
from masthead._cli.creating import creation_options
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.generator_groups import generator_group
from masthead._cli.manifest_files import file_options, read_sources
from masthead._cli.shared_options import State

if TYPE_CHECKING:
    from typing import Unpack

    from masthead._cli.creating import CreationArguments
    from masthead._meta.plain import Plain

__all__ = ["command"]

_ALIASES: Final = {
    "cm": "configmap",
    "cj": "cronjob",
    "deploy": "deployment",
    "ing": "ingress",
    "ns": "namespace",
    "pc": "priorityclass",
    "pdb": "poddisruptionbudget",
    "resourcequota": "quota",
    "sa": "serviceaccount",
    "svc": "service",
}


@click.pass_context
def _create(
    ctx: click.Context,
    /,
    files: tuple[str, ...],
    kustomize: str | None,
    selector: str | None,
    **options: Unpack[CreationArguments],
) -> int:
    from masthead._cli.create_manifests import create_manifests
    from masthead._cli.framework import merge_shared

    state = merge_shared(ctx)
    for name in State.__dataclass_fields__:
        cast("Plain", options).pop(name, None)
    # The callback of a group runs before its commands.
    if ctx.invoked_subcommand is not None:
        return ExitCode.OK
    sources = read_sources(files, kustomize)
    if not sources:
        raise CommandError(
            "name manifests with -f, or what to create: masthead create configmap NAME",
            hint="masthead create --help lists all commands",
            code=ExitCode.USAGE,
        )
    return create_manifests(state, sources, selector, options)


def _declare_options() -> list[click.Parameter]:
    """The options of the group itself."""

    @file_options
    @click.option("-l", "--selector", metavar="SELECTOR", help="only objects with these labels")
    @creation_options
    def declare() -> None: ...

    return click.command(declare).params


command = generator_group(
    "create",
    (
        clusterrole,
        clusterrolebinding,
        configmap,
        cronjob,
        deployment,
        ingress,
        job,
        namespace,
        poddisruptionbudget,
        priorityclass,
        quota,
        role,
        rolebinding,
        secret,
        service,
        serviceaccount,
        token,
    ),
    aliases=_ALIASES,
    hint="masthead create -f FILE creates objects of any kind; masthead run NAME --image=IMAGE, a pod",
    callback=_create,
    invoke_without_command=True,
    params=_declare_options(),
    help_="""Create the objects of manifests, or an object of options.

    An object that exists already is an error: apply changes it.

    \b
    masthead create -f web.yaml
    masthead create configmap settings --from-literal=color=red
    masthead create deployment web --image=nginx --dry-run=client -o yaml
    """,
)
