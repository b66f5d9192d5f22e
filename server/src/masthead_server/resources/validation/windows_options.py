"""Validation of the security options of Windows, and of containers that run as processes of the host."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid
from masthead_server.resources import names
from masthead_server.resources.validation.checks import each_of, follows
from masthead_server.wire.plain import items, part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = ["host_process_errors", "windows_option_errors"]

_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")
_MAX_CREDENTIALS: Final = 64 * 1024
_MAX_DOMAIN_LENGTH: Final = 256
_MAX_USER_LENGTH: Final = 104
_NET_BIOS: Final = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}')
_DNS_LABEL: Final = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_DNS: Final = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*")


def windows_option_errors(options: Plain, path: str) -> Errors:
    """Validate the Windows options of a security context."""
    if not options:
        return []
    errors: Errors = []
    if options.get("gmsaCredentialSpecName") is not None:
        errors += follows(f"{path}.gmsaCredentialSpecName", options["gmsaCredentialSpecName"], names.SUBDOMAIN)
    credentials, at = options.get("gmsaCredentialSpec"), f"{path}.gmsaCredentialSpec"
    if credentials == "":
        errors.append(invalid(at, credentials, "gmsaCredentialSpec cannot be an empty string"))
    elif credentials is not None and len(credentials.encode()) > _MAX_CREDENTIALS:
        errors.append(invalid(at, credentials, "gmsaCredentialSpec size must be under 64 KiB"))
    user = options.get("runAsUserName")
    problems = [] if user is None else _problems_with_user(user)
    return errors + [invalid(f"{path}.runAsUserName", user, f"runAsUserName{problem}") for problem in problems]


def _problems_with_user(name: str) -> list[str]:
    """Return what keeps a text from being a user of Windows, with or without a domain."""
    if not name:
        return [" cannot be an empty string"]
    if re.search(r"[\x00-\x1f\x7f]", name):
        return [" cannot contain control characters"]
    if name.count("\\") > 1:
        return [" cannot contain more than one backslash"]
    domain, separator, user = name.rpartition("\\")
    found: list[str] = []
    if len(domain.encode()) >= _MAX_DOMAIN_LENGTH:
        found.append(f"'s Domain length must be under {_MAX_DOMAIN_LENGTH} characters")
    if separator and not (_NET_BIOS.fullmatch(domain) or _DNS.fullmatch(domain)):
        found.append("'s Domain doesn't match the NetBios nor the DNS format")
    if not user:
        found.append("'s User cannot be empty")
    elif len(user.encode()) > _MAX_USER_LENGTH:
        found.append(f"'s User length must not be longer than {_MAX_USER_LENGTH} characters")
    if user and not user.strip(". "):
        found.append("'s User cannot contain only periods or spaces")
    if re.search(r'["/\\:;|=,+*?<>@\[\]]', user):
        found.append(r"""'s User cannot contain the following characters: "/\:;|=,+*?<>@[]""")
    return found


def host_process_errors(spec: Plain, path: str) -> Errors:
    """Validate that all containers of a pod run as processes of the host, or none."""
    of_pod = _asks_for_host(spec)
    # Hardly any pod does; no path is made for the others.
    if not of_pod and not any(_asks_for_host(container) for container in _containers(spec)):
        return []
    containers = [found for field in _CONTAINERS for found in each_of(spec, field, path)]
    errors: Errors = []
    count = 0
    for at, container in containers:
        own = _asks_for_host(container)
        if of_pod is not None and own is not None and own is not of_pod:
            why = f"pod hostProcess value must be identical if both are specified, was {str(of_pod).lower()}"
            errors.append(invalid(f"{at}.securityContext.windowsOptions.hostProcess", own, why))
        count += bool(of_pod if own is None else own)
    if count and count != len(containers):
        why = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        errors.append(invalid(path, "", why))
    if count and not spec.get("hostNetwork"):
        why = "hostNetwork must be true if pod contains any hostProcess containers"
        errors.append(invalid(f"{path}.hostNetwork", False, why))
    return errors


def _containers(spec: Plain) -> Iterator[Plain]:
    for field in _CONTAINERS:
        yield from items(spec, field)


def _asks_for_host(owner: Plain) -> bool | None:
    """Whether a pod or a container runs as processes of the host; None if unset."""
    return part(part(owner, "securityContext"), "windowsOptions").get("hostProcess")
