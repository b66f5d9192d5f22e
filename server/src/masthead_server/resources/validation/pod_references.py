"""References of a pod other than containers and volumes: name servers and resource claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import duplicate, invalid, required
from masthead_server.resources import names
from masthead_server.resources.validation.addresses import ip_errors
from masthead_server.resources.validation.checks import each_of, follows, texts_of, words
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

__all__ = ["dns_errors", "pod_claim_errors"]

_MAX_SERVERS: Final = 3
_MAX_SEARCHES: Final = 32
_MAX_SEARCHES_LENGTH: Final = 2048


def dns_errors(spec: Plain, path: str) -> Errors:
    """Validate the name servers of a pod."""
    path, config = f"{path}.dnsConfig", spec.get("dnsConfig")
    # The policy leaves the configuration to the pod, which then needs a server at least.
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return [required(path, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not config.get("nameservers"):
            why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [required(f"{path}.nameservers", why)]
    return [] if config is None else _config_errors(part(spec, "dnsConfig"), path)


def _config_errors(config: Plain, path: str) -> Errors:
    servers, searches = words(config, "nameservers"), words(config, "searches")
    errors: Errors = []
    if len(servers) > _MAX_SERVERS:
        why = f"must not have more than {_MAX_SERVERS} nameservers"
        errors.append(invalid(f"{path}.nameservers", servers, why))
    for at, server in texts_of(config, "nameservers", path):
        errors += ip_errors(at, server)
    if len(searches) > _MAX_SEARCHES:
        why = f"must not have more than {_MAX_SEARCHES} search paths"
        errors.append(invalid(f"{path}.searches", searches, why))
    # The limit of the line in resolv.conf, spaces included.
    if len(" ".join(searches).encode()) > _MAX_SEARCHES_LENGTH:
        why = f"must not have more than {_MAX_SEARCHES_LENGTH} characters (including spaces) in the search list"
        errors.append(invalid(f"{path}.searches", searches, why))
    for at, search in texts_of(config, "searches", path):
        # The root domain is the only one without a label.
        if search != ".":
            errors += follows(at, search.removesuffix("."), names.SEARCH_DOMAIN)
    for at, option in each_of(config, "options", path):
        if not option.get("name"):
            errors.append(required(at, "must not be empty"))
    return errors


def pod_claim_errors(spec: Plain, path: str) -> Errors:
    """Validate the resource claims of a pod."""
    errors: Errors = []
    seen: set[str] = set()
    for at, claim in each_of(spec, "resourceClaims", path):
        name = text(claim, "name")
        if not name:
            errors.append(required(f"{at}.name"))
        elif name in seen:
            errors.append(duplicate(f"{at}.name", name))
        else:
            errors += follows(f"{at}.name", name, names.label)
            seen.add(name)
        errors += _source_errors(claim, at)
    return errors


_SOURCES: Final = ("resourceClaimName", "resourceClaimTemplateName")


def _source_errors(claim: Plain, path: str) -> Errors:
    stated = [source for source in _SOURCES if claim.get(source) is not None]
    shown = {
        "Name": text(claim, "name"),
        **{source[0].upper() + source[1:]: claim.get(source) for source in _SOURCES},
    }
    errors: Errors = []
    if len(stated) == 2:
        why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        errors.append(invalid(path, shown, why))
    if not stated:
        why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        errors.append(invalid(path, shown, why))
    for field in stated:
        problems = names.SUBDOMAIN(claim[field])
        errors += [invalid(f"{path}.{field}", claim[field], problem) for problem in problems]
    return errors
