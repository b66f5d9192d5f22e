"""The options that every command of the framework has, and the connection that they describe."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import masthead
    import masthead.aio
    from masthead._cli.server_warnings import ServerWarningPrinter
    from masthead._config.model import Config

__all__ = ["State"]

_REQUEST_TIMEOUT: Final = 30.0


@dataclass(slots=True)
class State:
    """The values of the options that are common to all commands; commands get it with ``click.pass_obj``.

    Attributes:
        kubeconfig: The path of the kubeconfig; None for kubectl's default.
        context: The context; None for the current one.
        namespace: The namespace; None for the context's.
        all_namespaces: Whether all namespaces are meant.
        server: The address of the server; None for the kubeconfig's.
        token: A bearer token; None for the credentials of the kubeconfig.
        impersonate: The user to impersonate; None for none.
        insecure: Whether certificates are not verified.
        request_timeout: Seconds that one request may take; None for the default.
        debug: Whether to print tracebacks and logs.
        no_color: Whether colours are off.
        command_path: The words of the command that runs, such as ``masthead auth can-i``; empty before it does.
    """

    kubeconfig: str | None = None
    context: str | None = None
    namespace: str | None = None
    all_namespaces: bool = False
    server: str | None = None
    token: str | None = None
    impersonate: str | None = None
    insecure: bool = False
    request_timeout: float | None = None
    debug: bool = False
    no_color: bool = False
    command_path: str = ""

    def config(self) -> Config:
        """Load the configuration that the options describe.

        ``--server`` alone does not send the credentials of the current context to that server.

        Raises:
            CommandError: If an option is wrong.
            ConfigError: If there is no configuration, or an invalid one.
        """
        from masthead._config.loader import load

        self._refuse_bad_options()
        # A token of the current context must not reach a server that merely was typed.
        if self.server is not None and self.kubeconfig is None and self.context is None:
            return self._config_of_options(self.server)
        return load(
            self.kubeconfig,
            context=self.context,
            namespace=self.namespace,
            server=self.server,
            token=self.token,
            impersonate=self.impersonate,
            insecure=self.insecure or None,
        )

    def _refuse_bad_options(self) -> None:
        """Check what would otherwise look like a fault of the kubeconfig.

        Raises:
            CommandError: If an option is wrong.
        """
        from masthead._cli.failures import CommandError, ExitCode
        from masthead._config.model import Config
        from masthead._meta.names import problem_with_dns1123_label, quote
        from masthead.errors import ConfigError

        if self.namespace and (problem := problem_with_dns1123_label(self.namespace)):
            raise CommandError(f"-n: {quote(self.namespace)} {problem}", code=ExitCode.USAGE)
        try:
            # The configuration's own check, so that the message blames the option rather than the file.
            Config(server=self.server or "https://localhost")
        except ConfigError as error:
            problem = str(error).partition(" server: ")[2]
            raise CommandError(f"--server: {problem}", code=ExitCode.USAGE) from None

    def _config_of_options(self, server: str) -> Config:
        """The configuration without a kubeconfig.

        Raises:
            CommandError: If options contradict each other.
        """
        from masthead._cli.failures import CommandError, ExitCode, explain
        from masthead._config.model import Config
        from masthead._config.overrides import apply_overrides
        from masthead._config.proxies import proxy_for
        from masthead.errors import ConfigError

        try:
            found = Config(
                server=server,
                token=self.token or "",
                insecure=self.insecure,
                proxy_url=proxy_for(server, os.environ),
                origin="the command line",
            )
            return apply_overrides(found, namespace=self.namespace, impersonate=self.impersonate)
        except ConfigError as error:
            said = explain(error)
            raise CommandError(said.line, hint=said.hint, code=ExitCode.USAGE) from None

    @property
    def field_manager(self) -> str:
        """The field manager of the command, such as ``masthead-scale``; conflicts of a later apply name it."""
        return "-".join(self.command_path.split()[:2]) or "masthead"

    def connect(self, *, prints_warnings: bool = True) -> masthead.Client:
        """Make the client; use it in a ``with`` block. Nothing is sent before the first call.

        Args:
            prints_warnings: Whether warnings of the server are printed; off for requests that the command makes on its
                own.

        Raises:
            CommandError: If an option is wrong.
            ConfigError: If there is no configuration, or it is invalid.
            AuthError: If the credentials cannot be used.
        """
        from masthead._sync.client import Client

        self.silence_logs()
        return Client(
            self.config(),
            timeout=self.request_timeout or _REQUEST_TIMEOUT,
            field_manager=self.field_manager,
            discovery_cache=cache_folder(),
            on_warning=self._on_warning(prints_warnings=prints_warnings),
        )

    def connect_async(self, *, prints_warnings: bool = True) -> masthead.aio.Client:
        """Make an async client as `connect` does; use it in an ``async with`` block.

        Args:
            prints_warnings: Whether warnings of the server are printed; off for requests that the command makes on its
                own.

        Raises:
            CommandError: If an option is wrong.
            ConfigError: If there is no configuration, or it is invalid.
            AuthError: If the credentials cannot be used.
        """
        from masthead._client.client import Client

        self.silence_logs()
        return Client(
            self.config(),
            timeout=self.request_timeout or _REQUEST_TIMEOUT,
            field_manager=self.field_manager,
            discovery_cache=cache_folder(),
            on_warning=self._on_warning(prints_warnings=prints_warnings),
        )

    def _on_warning(self, *, prints_warnings: bool) -> ServerWarningPrinter | None:
        """What prints warnings; None to log them, which shows them with ``--debug`` only."""
        from masthead._cli.server_warnings import ServerWarningPrinter

        return ServerWarningPrinter(no_color=self.no_color) if prints_warnings else None

    def silence_logs(self) -> None:
        """Send logs of the library to the error output with ``--debug``, and nowhere without it."""
        if self.debug:
            logging.basicConfig(level=logging.DEBUG, format="%(asctime)s %(name)s %(levelname)s %(message)s")
        else:
            # Without a handler, Python's handler of last resort prints warnings to the error output.
            logging.getLogger("masthead").addHandler(logging.NullHandler())


def cache_folder() -> Path:
    """The folder in which discovery documents are cached between runs."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "masthead" / "discovery"
