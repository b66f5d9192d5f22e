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
    from masthead._config.model import Config

__all__ = ["State"]

_FIELD_MANAGER: Final = "masthead"
_REQUEST_TIMEOUT: Final = 30.0


@dataclass(slots=True)
class State:
    """What the options say that are common to all commands; commands get it with ``click.pass_obj``.

    Attributes:
        kubeconfig: The path of the kubeconfig; None for where kubectl finds it.
        context: The context; None for the current one.
        namespace: The namespace; None for the context's.
        all_namespaces: Whether all namespaces are meant.
        server: The address of the server; None for the kubeconfig's.
        token: A bearer token; None for the credentials of the kubeconfig.
        impersonate: The user to impersonate; None for none.
        insecure: Whether certificates are not verified.
        request_timeout: Seconds that one request may take; None for the default.
        debug: Whether tracebacks and logs are shown.
        no_color: Whether colours are off.
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

    def config(self) -> Config:
        """Load the configuration that the options describe.

        ``--server`` alone does not send the credentials of the current context to that server.

        Raises:
            ConfigError: If there is none, or it is invalid.
        """
        from masthead._config.loader import load
        from masthead._config.model import Config
        from masthead._config.overrides import adjusted
        from masthead._config.proxies import proxy_for

        if self.server is not None and self.kubeconfig is None and self.context is None:
            found = Config(
                server=self.server,
                token=self.token or "",
                insecure=self.insecure,
                proxy_url=proxy_for(self.server, os.environ),
                origin="the arguments",
            )
            return adjusted(found, namespace=self.namespace, impersonate=self.impersonate)
        return load(
            self.kubeconfig,
            context=self.context,
            namespace=self.namespace,
            server=self.server,
            token=self.token,
            impersonate=self.impersonate,
            insecure=self.insecure or None,
        )

    def connect(self, *, timeout: float | None = None) -> masthead.Client:
        """Make the client; use it in a ``with`` block. Nothing is sent before the first call.

        Args:
            timeout: Seconds that one request may take, if the options do not say it.

        Raises:
            ConfigError: If there is no configuration, or it is invalid.
            AuthError: If the credentials cannot be used.
        """
        from masthead._sync.client import Client

        self.silence_logs()
        return Client(
            self.config(),
            timeout=self.request_timeout or timeout or _REQUEST_TIMEOUT,
            field_manager=_FIELD_MANAGER,
            discovery_cache=cache_folder(),
        )

    def connect_async(self) -> masthead.aio.Client:
        """Make an async client as `connect` does; use it in an ``async with`` block.

        Raises:
            ConfigError: If there is no configuration, or it is invalid.
            AuthError: If the credentials cannot be used.
        """
        from masthead._client.client import Client

        self.silence_logs()
        return Client(
            self.config(),
            timeout=self.request_timeout or _REQUEST_TIMEOUT,
            field_manager=_FIELD_MANAGER,
            discovery_cache=cache_folder(),
        )

    def silence_logs(self) -> None:
        """Send logs of the library to the error output with ``--debug``, and nowhere without it."""
        if self.debug:
            logging.basicConfig(level=logging.DEBUG, format="%(asctime)s %(name)s %(levelname)s %(message)s")
        else:
            logging.getLogger("masthead").addHandler(logging.NullHandler())


def cache_folder() -> Path:
    """Where discovery documents are kept between runs."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "masthead" / "discovery"
