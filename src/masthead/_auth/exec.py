"""Credentials that a program prints, as cloud providers and single sign-on have it."""

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
"""Of what came so lately, a new run would hardly bring anything else."""
_PATIENCE_WITH_PEOPLE: Final = 10
_STDERR_SHOWN: Final = 600


class _CachedCredential:
    """A credential in use."""

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


class ExecPlugin:
    """Runs a program that prints an ExecCredential, and keeps what it gave.

    Guarantees: the program runs once at a time, and all who need a credential meanwhile share that run's outcome. What
    it gave is kept until shortly before its expirationTimestamp or, without one, until the server refuses it. If the
    program fails, those who waited get an AuthError; it is not remembered, and the next to ask runs the program again.
    Never is a request sent without the credential instead.

    Cancellation: a run belongs to the caller that began it. Cancelling that caller kills the program, and the first of
    those that wait runs it again; cancelling one that waits disturbs nobody.

    Threads: belongs to one event loop, which need not be the main thread's.

    Args:
        command: The program; with a separator in it a path, else looked up in ``PATH``.
        args: Its arguments.
        env: What to add to its environment.
        api_version: ``client.authentication.k8s.io/v1`` or ``…/v1beta1``.
        install_hint: What to tell someone who does not have the program.
        interactive_mode: ``Never``, ``IfAvailable`` or ``Always``: whether it may ask the person at the terminal.
        cluster_info: What to tell it about the cluster, from `execcredential.cluster_info`; None for nothing.
        interactive: Whether there is somebody at the terminal; None to find out.
        timeout: How many seconds it may take; ten times as many if it may ask somebody.
        now: The time, with its zone.
        environ: The environment that ``env`` is added to; None for this process'.

    Raises:
        ConfigError: If there is no command, or the version or mode is none of those above.
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
        _require(
            api_version in API_VERSIONS, f"{self._source} needs an apiVersion of {_either(API_VERSIONS)}"
        )
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
        """The token; empty if the program gives a certificate only.

        Raises:
            AuthError: If the program cannot be run, fails, hangs or prints no credential.
        """
        return (await self._current()).authorization

    async def certificate(self) -> Certificate | None:
        """The certificate, if the program gives one.

        What came within the last second is good enough, even if it has expired already: a request asks for its token
        just before it connects, and one run is to do for both.

        Raises:
            AuthError: If the program cannot be run, fails, hangs or prints no credential.
        """
        held = self._held
        if held is not None and held.is_young(self._now()):
            return held.certificate
        return (await self._current()).certificate

    async def renew(self, refused: Secret) -> bool:
        """Run the program again, unless somebody did since; whether it gave something else.

        Raises:
            AuthError: If the program cannot be run, fails, hangs or prints no credential.
        """
        before = self._held
        if before is not None:
            if before.authorization != refused:
                return True
            # Which certificate was refused nobody can say; of many refusals at once, the first has brought a new one.
            if before.certificate is not None and before.is_young(self._now()):
                return True
        await self._renewal_lock.run(self._run)
        return self._held is not None and not self._held.is_same(before)

    async def _current(self) -> _CachedCredential:
        held = self._held
        if held is None or not held.is_fresh(self._now()):
            await self._renewal_lock.run(self._run)
            held = self._held
        if held is None:  # a run that succeeds leaves one, and one that fails raises
            raise AuthError(f"{self._source} gave nothing")
        return held

    async def _run(self) -> None:
        interactive = self._may_ask()
        environ = self._environment(interactive=interactive)
        path = shutil.which(self._command, path=environ.reveal().get("PATH"))
        if path is None:
            raise AuthError(self._with_hint("was not found, or is not executable"))
        timeout = self._timeout * (_PATIENCE_WITH_PEOPLE if interactive else 1)
        try:
            ended = await run(path, self._args, env=environ, interactive=interactive, within=timeout)
        except TimeoutError:
            problem = f"{self._source} did not finish within {timeout:g} s, and was killed"
        except (
            OSError,
            ValueError,
        ) as error:  # ValueError: a NUL somewhere, which the message leaves unquoted
            why = error.strerror if isinstance(error, OSError) else str(error)
            problem = self._with_hint(f"could not be started: {why}")
        else:
            self._held = self._read(ended)
            return
        raise AuthError(problem)

    def _environment(self, *, interactive: bool) -> SecretValue[Mapping[str, str]]:
        """All that the program finds in its environment."""
        told = request(self._api_version, interactive=interactive, cluster=self._cluster_info.reveal())
        ours = {"KUBERNETES_EXEC_INFO": told}
        return SecretValue({**self._environ.reveal(), **self._env.reveal(), **ours})

    def _secrets(self) -> Iterator[str]:
        """What a quotation of the program leaves out: what it was given, but for the names of options."""
        yield from self._env.reveal().values()
        for argument in self._args.reveal():
            yield argument.partition("=")[2] if argument.startswith("-") else argument
        yield str((self._cluster_info.reveal() or {}).get("proxy-url", ""))

    def _read(self, ended: ProcessResult) -> _CachedCredential:
        """Take what a run gave.

        Raises:
            AuthError: If it gave nothing that can be used.
        """
        if len(ended.output.reveal()) > OUTPUT_LIMIT:
            raise AuthError(f"{self._source} printed more than {OUTPUT_LIMIT // 1024} KiB, and was killed")
        stderr = SecretValue(ended.stderr.reveal().decode(errors="replace"))
        said = redact(stderr.reveal(), self._secrets(), limit=_STDERR_SHOWN)
        if ended.code != 0:
            how = f"exit code {ended.code}" if ended.code > 0 else f"signal {-ended.code}"
            raise AuthError(f"{self._source} failed with {how}; it said: {said or 'nothing'}")
        try:
            issued = read_reply(ended.output, api_version=self._api_version, source=self._source)
            if issued.certificate is not None:
                check_certificate(issued.certificate, self._source)
            return _CachedCredential(issued, self._source, self._now())
        except AuthError as error:
            if not said:
                raise
            problem = f"{error}; it said: {said}"
        raise AuthError(problem)

    def _may_ask(self) -> bool:
        """Whether the program may use the terminal.

        Raises:
            AuthError: If it must, and there is none.
        """
        if self._mode == "Never":
            return False
        is_there = _is_terminal() if self._interactive is None else self._interactive
        if self._mode == "Always" and not is_there:
            raise AuthError(
                f"{self._source} must ask somebody at a terminal, and there is none; log in by hand first, "
                "or set its interactiveMode to IfAvailable"
            )
        return is_there

    def _with_hint(self, problem: str) -> str:
        hint = self._install_hint.strip()
        return f"{self._source} {problem}" + (f"; {hint}" if hint else "; install it, or fix the kubeconfig")


def _is_terminal() -> bool:
    try:
        return sys.__stdin__ is not None and sys.__stdin__.isatty()
    except ValueError:  # it is closed
        return False


def _require(is_met: bool, problem: str) -> None:
    if not is_met:
        raise ConfigError(problem)


def _either(words: Sequence[str]) -> str:
    return " or ".join(words)
