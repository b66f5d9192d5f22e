"""``masthead auth whoami``: the user that the server takes the credentials for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from masthead._cli.failures import CommandError, ExitCode, explain
from masthead._cli.framework import cluster_command
from masthead._cli.subjects import ResultPrinter, output_option
from masthead._cli.terminal import write

if TYPE_CHECKING:
    import masthead
    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain

__all__ = ["user_lines", "whoami"]


@cluster_command("whoami")
@output_option
@click.pass_obj
def whoami(state: State, output: str | None) -> int:
    """Print the user that the server takes your credentials for: name, uid, groups and extra fields.

    \b
    masthead auth whoami
    masthead auth whoami -o jsonpath={.status.userInfo.username}
    """
    printer = ResultPrinter(output) if output else None
    with state.connect() as client:
        review = _review(client)
    if printer is not None:
        printer.print(review, "")
        return ExitCode.OK
    from masthead._meta.plain import part
    from masthead._printers.layout import lay_out

    write(f"{lay_out(user_lines(part(review, 'status', 'userInfo')))}\n")
    return ExitCode.OK


def _review(client: masthead.Client) -> Plain:
    """Ask who the user is, in the newest version that the server has.

    Raises:
        CommandError: If it has none, or it may not be asked for.
        MastheadError: As any call.
    """
    from masthead.errors import ForbiddenError, NotFoundError

    for reviews in (
        client.authentication_v1.self_subject_reviews,
        client.authentication_v1beta1.self_subject_reviews,
        client.authentication_v1alpha1.self_subject_reviews,
    ):
        try:
            return reviews().create({}).to_dict()
        except NotFoundError:
            continue
        except ForbiddenError as error:
            raise CommandError(
                "the selfsubjectreviews API is not enabled in the cluster or you do not have permission to call it: "
                f"{explain(error).line}",
                code=ExitCode.FORBIDDEN,
            ) from None
    raise CommandError("the selfsubjectreviews API is not enabled in the cluster", code=ExitCode.NOT_FOUND)


def user_lines(user: Plain) -> list[tuple[str, str]]:
    """Return the cells of the table, line by line; fields that are not set have none."""
    from masthead._meta.plain import part, text, texts

    lines = [("ATTRIBUTE", "VALUE"), ("Username", text(user, "username")), ("UID", text(user, "uid"))]
    if groups := texts(user, "groups"):
        lines.append(("Groups", f"[{' '.join(groups)}]"))
    extra = part(user, "extra")
    lines += [(f"Extra: {key}", f"[{' '.join(texts(extra, key))}]") for key in sorted(extra)]
    return [line for line in lines if line[1]]
