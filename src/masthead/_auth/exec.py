"""Exec credential plugins, as cloud providers and single sign-on use them."""

from __future__ import annotations

import os
import shutil
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from masthead._auth.execcredential import API_VERSIONS, read_reply, request
from masthead._auth.pem import check_certificate
from masthead._auth.process import OUTPUT_LIMIT, run
from masthead._auth.redaction import redact
from masthead._auth.renewal import RenewalLock, renewal_time
from masthead._auth.tokens import bearer
from masthead._meta.secret import Secret, SecretValue
from masthead._module import set_module
from masthead.errors import AuthError, ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from masthead._auth.credentials import Certificate
    from masthead._auth.execcredential import ExecCredential
    from masthead._auth.process import ProcessResult

__all__ = ["ExecPlugin"]

_MODES: Final = ("Never", "IfAvailable", "Always")
_YOUNG: Final = timedelta(seconds=1)
"""A credential this recent is not renewed: another run would print the same."""
_PATIENCE_WITH_PEOPLE: Final = 10
_STDERR_SHOWN: Final = 600


class _CachedCredential:
    """A credential and when it is to be renewed."""

    def __init__(self, issued: ExecCredential, source: str, now: datetime) -> None:
        self.authorization = bearer(issued.token, source) if issued.token else Secret()
        self.certificate = issued.certificate
        self._since = now
        self._renew_at = renewal_time(issued.expires_at, now)

    def is_fresh(self, now: datetime) -> bool:
        return self._renew_at is None or now < self._renew_at

    def is_young(self, now: datetime) -> bool:
        return abs(now - self._since) < _YOUNG

    def is_same(self, other: _CachedCredential | None) -> bool:
        mine = self.authorization, self.certificate
        return other is not None and mine == (other.authorization, other.certificate)


@set_module("masthead.auth")
class ExecPlugin:
    """Runs an exec credential plugin and caches the ExecCredential that it prints.

    Guarantees: only one run at a time; concurrent callers share its outcome. A credential is cached until shortly
        before
    its expirationTimestamp or, without one, until the server rejects it. If the plugin fails, all waiting callers get
    an AuthError; the failure is not cached, and the next call runs the plugin again. No request is sent without the
    credential.

    Cancellation: cancelling the caller that started a run kills the plugin, and the first waiting caller runs it again.
    Cancelling a waiting caller does not affect the others.

    Threads: belongs to one event loop, which need not be the main thread's.

    Args:
        command: The plugin: a path if it contains a separator, else looked up in ``PATH``.
        args: Its arguments.
        env: Additional environment variables.
        api_version: ``client.authentication.k8s.io/v1`` or ``…/v1beta1``.
        install_hint: Shown if the plugin is not installed.
        interactive_mode: ``Never``, ``IfAvailable`` or ``Always``: whether it may prompt on the terminal.
        cluster_info: The cluster's data for the plugin, from `execcredential.cluster_info`; None for none.
        interactive: Whether a terminal is attached; None to detect it.
        timeout: How many seconds it may take; ten times as many if it may prompt.
        now: The current time, with a time zone.
        environ: The environment that ``env`` is added to; None for that of this process.

    Raises:
        ConfigError: If the command is empty, or the version or mode is not one of those above.
    """

    def __init__(  # noqa: PLR0913 - the fields of a configuration
        self,
        command: str,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        api_version: str = API_VERSIONS[0],
        install_hint: str = "",
        interactive_mode: str = "IfAvailable",
        cluster_info: Mapping[str, object] | None = None,
        *,
        interactive: bool | None = None,
        timeout: float = 60.0,
        now: Callable[[], datetime],
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._source = f'exec plugin "{command}"'
        _require(bool(command), "an exec plugin needs a command")
        _require(api_version in API_VERSIONS, f"{self._source} needs an apiVersion of {_either(API_VERSIONS)}")
        _require(interactive_mode in _MODES, f"{self._source} needs an interactiveMode of {_either(_MODES)}")
        self._command = command
        self._args = SecretValue(tuple(args))
        self._env = SecretValue(dict(env or {}))
        self._api_version = api_version
        self._install_hint = install_hint
        self._mode = interactive_mode
        self._cluster_info = SecretValue(cluster_info)
        self._interactive = interactive
        self._timeout = timeout
        self._now = now
        self._environ = SecretValue(os.environ if environ is None else environ)
        self._renewal_lock = RenewalLock()
        self._held: _CachedCredential | None = None

    def __repr__(self) -> str:
        return f"ExecPlugin({self._command!r})"

    async def authorization(self) -> Secret:
        """Return the token; empty if the plugin prints a certificate only.

        Raises:
            AuthError: If the plugin cannot be run, fails, times out or prints no credential.
        """
        return (await self._current()).authorization

    async def certificate(self) -> Certificate | None:
        """Return the certificate, if the plugin prints one.

        A credential from the last second is accepted even if it has expired: a request needs the token just before it
        connects, and one run must serve both.

        Raises:
            AuthError: If the plugin cannot be run, fails, times out or prints no credential.
        """
        held = self._held
        if held is not None and held.is_young(self._now()):
            return held.certificate
        return (await self._current()).certificate

    async def renew(self, refused: Secret) -> bool:
        """Run the plugin again, unless it ran since; return whether the credential changed.

        Raises:
            AuthError: If the plugin cannot be run, fails, times out or prints no credential.
        """
        before = self._held
        if before is not None:
            # Another call has renewed it already.
            if before.authorization != refused:
                return True
            # The rejected certificate is unknown. Of several concurrent 401s, the first has triggered the renewal.
            if before.certificate is not None and before.is_young(self._now()):
                return True
        await self._renewal_lock.run(self._run)
        return self._held is not None and not self._held.is_same(before)

    async def _current(self) -> _CachedCredential:
        held = self._held
        if held is None or not held.is_fresh(self._now()):
            await self._renewal_lock.run(self._run)
            held = self._held
        if held is None:  # unreachable: a run stores a credential or raises
            raise AuthError(f"{self._source} returned no credential")
        return held

    async def _run(self) -> None:
        interactive = self._is_interactive()
        environ = self._environment(interactive=interactive)
        # With the PATH of the plugin, which its configuration may change.
        path = shutil.which(self._command, path=environ.reveal().get("PATH"))
        if path is None:
            raise AuthError(self._with_hint("was not found, or is not executable"))
        # A person may have to open a browser and log in.
        timeout = self._timeout * (_PATIENCE_WITH_PEOPLE if interactive else 1)
        try:
            ended = await run(path, self._args, env=environ, interactive=interactive, timeout=timeout)
        except TimeoutError:
            problem = f"{self._source} did not finish within {timeout:g} s, and was killed"
        except (
            OSError,
            ValueError,
        ) as error:  # ValueError: an argument contains NUL; it is not repeated
            why = error.strerror if isinstance(error, OSError) else str(error)
            problem = self._with_hint(f"could not be started: {why}")
        else:
            self._held = self._read(ended)
            return
        raise AuthError(problem)

    def _environment(self, *, interactive: bool) -> SecretValue[Mapping[str, str]]:
        """Return the environment of the plugin."""
        info = request(self._api_version, interactive=interactive, cluster=self._cluster_info.reveal())
        ours = {"KUBERNETES_EXEC_INFO": info}
        return SecretValue({**self._environ.reveal(), **self._env.reveal(), **ours})

    def _secrets(self) -> Iterator[str]:
        """Return the texts to redact from the plugin's stderr: its arguments (except option names) and variables."""
        yield from self._env.reveal().values()
        for argument in self._args.reveal():
            # The value of an option may be a secret; its name helps to find the problem.
            yield argument.partition("=")[2] if argument.startswith("-") else argument
        yield str((self._cluster_info.reveal() or {}).get("proxy-url", ""))

    def _read(self, ended: ProcessResult) -> _CachedCredential:
        """Decode and check the output of a run.

        Raises:
            AuthError: If it is not a usable credential.
        """
        if len(ended.output.reveal()) > OUTPUT_LIMIT:
            raise AuthError(f"{self._source} printed more than {OUTPUT_LIMIT // 1024} KiB, and was killed")
        stderr = SecretValue(ended.stderr.reveal().decode(errors="replace"))
        # Redacted before it gets into a message, because plugins may print credentials on stderr, too.
        stderr_text = redact(stderr.reveal(), self._secrets(), limit=_STDERR_SHOWN)
        if ended.code != 0:
            how = f"exit code {ended.code}" if ended.code > 0 else f"signal {-ended.code}"
            raise AuthError(f"{self._source} failed with {how}; stderr: {stderr_text or '(empty)'}")
        try:
            issued = read_reply(ended.output, api_version=self._api_version, source=self._source)
            if issued.certificate is not None:
                check_certificate(issued.certificate, self._source)
            return _CachedCredential(issued, self._source, self._now())
        except AuthError as error:
            if not stderr_text:
                raise
            problem = f"{error}; stderr: {stderr_text}"
        # Raised outside the handler, so that a traceback does not show the same problem twice.
        raise AuthError(problem)

    def _is_interactive(self) -> bool:
        """Whether the program may use the terminal.

        Raises:
            AuthError: If it must, and no terminal is attached.
        """
        if self._mode == "Never":
            return False
        is_there = _is_terminal() if self._interactive is None else self._interactive
        if self._mode == "Always" and not is_there:
            raise AuthError(
                f"{self._source} must prompt on a terminal, and none is attached; log in by hand first, "
                "or set its interactiveMode to IfAvailable"
            )
        return is_there

    def _with_hint(self, problem: str) -> str:
        hint = self._install_hint.strip()
        return f"{self._source} {problem}" + (f"; {hint}" if hint else "; install it, or fix the kubeconfig")


def _is_terminal() -> bool:
    try:
        return sys.__stdin__ is not None and sys.__stdin__.isatty()
    except ValueError:  # stdin is closed
        return False


def _require(is_met: bool, problem: str) -> None:
    if not is_met:
        raise ConfigError(problem)


def _either(words: Sequence[str]) -> str:
    return " or ".join(words)
