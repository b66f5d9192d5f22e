"""``masthead auth``: who the user is, and what the user may do."""

from __future__ import annotations

from masthead._cli.command_groups import command_group
from masthead._cli.commands.auth_can_i import can_i
from masthead._cli.commands.auth_whoami import whoami

__all__ = ["command"]

command = command_group(
    "auth",
    (can_i, whoami),
    help_="""Find out who you are, and what you may do.

    \b
    masthead auth whoami
    masthead auth can-i create deployments.apps
    masthead auth can-i --list -n shop
    """,
)
