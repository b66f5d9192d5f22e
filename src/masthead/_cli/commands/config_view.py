"""``masthead config view``: the kubeconfig that commands use."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from masthead._cli.completion import complete_outputs
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import cluster_command, switch_option
from masthead._cli.kubeconfigs import KubeconfigFiles
from masthead._cli.terminal import write, write_data

if TYPE_CHECKING:
    from masthead._cli.shared_options import State

__all__ = ["view"]


@cluster_command("view")
@click.option("--minify", is_flag=True, help="only the current context, or that of --context")
@click.option("--raw", is_flag=True, help="with secrets and certificates")
@click.option("--flatten", is_flag=True, help="with the content of files, secrets included")
@switch_option("--merge", help_="true: --kubeconfig need not exist")
@click.option(
    "-o",
    "--output",
    default="yaml",
    metavar="FORM",
    shell_complete=complete_outputs,
    help="yaml (the default), json or jsonpath=TEMPLATE",
)
@click.pass_obj
def view(state: State, minify: bool, raw: bool, flatten: bool, merge: bool | None, output: str) -> int:
    """Print the kubeconfig, merged from all files. Secrets are REDACTED.

    \b
    masthead config view --minify
    masthead config view --minify -o jsonpath={.clusters[0].cluster.server}
    masthead config view --context=dev --minify --flatten > dev.kubeconfig
    """
    from masthead._cli.kubeconfig_view import embed_files, keep_current, redact, view_document
    from masthead._cli.outputs import parse_output

    form = parse_output(output)
    if form.form != "objects":
        raise CommandError(f"-o {output} is not for kubeconfigs", hint="write yaml or json", code=ExitCode.USAGE)
    files = KubeconfigFiles.of(state.kubeconfig)
    if merge is False and not files.is_explicit:
        raise CommandError("if merge==false a precise file must be specified", code=ExitCode.USAGE)
    merged = files.load()
    if files.is_explicit and not merge and not merged.documents:
        raise CommandError(f"{files.default} does not exist", code=ExitCode.NOT_FOUND)
    if minify:
        merged = keep_current(merged, state.context)
    if flatten:
        merged = embed_files(merged)
    document = view_document(merged)
    text = form.render(document if raw or flatten else redact(document))
    (write_data if form.is_data else write)(text)
    return ExitCode.OK
