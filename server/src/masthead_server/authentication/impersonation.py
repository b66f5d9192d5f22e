"""Impersonation: a request acts as the user that its ``Impersonate-`` headers name, if its own user may do that.

As in Kubernetes 1.36 there are several modes. The constrained ones permit impersonation for some verbs only, and the
last mode is the old one, the verb ``impersonate``. The first mode that allows a request determines the groups.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

from masthead._meta.quoting import quoted
from masthead._schema.errors import invalid
from masthead_server.authorization.authorizer import AuthorizationAttributes
from masthead_server.authorization.requests import check_authorization, forbidden, read_attributes
from masthead_server.resources import names as name_rules
from masthead_server.wire.failures import StatusFailure, bad_request
from masthead_server.wire.request import BAD_ESCAPE
from masthead_server.wire.user_info import ANONYMOUS, AUTHENTICATED_GROUP, UNAUTHENTICATED_GROUP, UserInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from masthead_server.authorization.authorizer import Authorizer
    from masthead_server.wire.request import ApiRequest

__all__ = ["Impersonation", "read_wanted_user", "split_account", "split_node"]

_ACCOUNT: Final = "system:serviceaccount:"
_NODE: Final = "system:node:"
_EXTRA: Final = "impersonate-extra-"
_AUTHENTICATION: Final = "authentication.k8s.io"
_MASTERS: Final = "system:masters"
_NODE_NAME: Final = "authentication.kubernetes.io/node-name"
_ASSOCIATED_KEYS: Final = "authentication.kubernetes.io/associated-node-keys"
_MANY: Final = 4
"""Number of groups or extra values above which a constrained mode first asks for the wildcard."""
_MAX_REMEMBERED: Final = 10_000
_HTTP_PATH: Final = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")


def split_account(username: str) -> tuple[str, str] | None:
    """Return namespace and name of the service account of a username; None if it is no service account's."""
    parts = username.removeprefix(_ACCOUNT).split(":") if username.startswith(_ACCOUNT) else []
    if len(parts) != 2 or name_rules.label(parts[0]) or name_rules.SUBDOMAIN(parts[1]):
        return None
    return parts[0], parts[1]


def split_node(username: str) -> str | None:
    """Return the name of the node of a username; None if it is no node's."""
    name = username.removeprefix(_NODE) if username.startswith(_NODE) else ""
    return name if name and not name_rules.SUBDOMAIN(name) else None


def read_wanted_user(names: Iterable[str], values: Callable[[str], list[str]]) -> UserInfo | None:
    """Return the user that the headers of a request name; None if they name none.

    Args:
        names: The names of all headers.
        values: Returns all values of a header.

    Raises:
        StatusFailure: If they name groups, a uid or more, but no user.
    """
    # Hardly any request impersonates, and the names of headers are short.
    if "impersonate-" not in " ".join(names).lower():
        return None
    extra: dict[str, tuple[str, ...]] = {}
    # Without duplicates, because `values` returns those of all spellings.
    for lower in dict.fromkeys(map(str.lower, names)):
        if lower.startswith(_EXTRA):
            key = lower.removeprefix(_EXTRA)
            # Go leaves a key with a broken escape as it is.
            key = key if BAD_ESCAPE.search(key) else unquote(key)
            extra[key] = (*extra.get(key, ()), *map(_to_unicode, values(lower)))
    name = _to_unicode(next(iter(values("impersonate-user")), ""))
    uid = _to_unicode(next(iter(values("impersonate-uid")), ""))
    groups = tuple(map(_to_unicode, values("impersonate-group")))
    if name:
        return UserInfo(name, uid, groups, extra)
    if uid or groups or extra:
        asked = f'&user.DefaultInfo{{Name:"", UID:{quoted(uid)}, Groups:{_go_list(groups)}, Extra:{_go_map(extra)}}}'
        raise bad_request(f"requested {asked} without impersonating a user name")
    return None


def _to_unicode(text: str) -> str:
    """Replace the bytes of a header that are not UTF-8, which are lone surrogates here and fit into no JSON."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


class Impersonation:
    """Decides who a request acts as.

    Args:
        authorizer: Returns what decides who may impersonate whom.
    """

    def __init__(self, authorizer: Callable[[], Authorizer]) -> None:
        self._authorizer = authorizer
        self._last_modes: dict[str, _Mode] = {}
        """The mode that last allowed each user to impersonate; it is tried first, as kube-apiserver does."""

    def act_as(self, wanted: UserInfo, user: UserInfo, request: ApiRequest) -> UserInfo:
        """Return the impersonated user, with the groups that its name implies.

        Args:
            wanted: The user that the headers name.
            user: The authenticated user.
            request: The request.

        Raises:
            StatusFailure: If no mode allows it.
        """
        attributes = read_attributes(user, request)
        last = self._last_modes.get(user.name)
        refusal: StatusFailure | None = None
        for mode in _MODES if last is None else (last, *(mode for mode in _MODES if mode is not last)):
            if not mode.applies(wanted, user):
                continue
            try:
                allowed = _check_mode(self._authorizer(), mode, wanted, attributes)
            except StatusFailure as failure:
                # The first refusal is the answer, as the modes are tried from the narrowest to the widest.
                refusal = refusal or failure
                continue
            self._remember(user.name, mode)
            return allowed
        assert refusal is not None, "the last mode applies to everyone"
        raise refusal

    def _remember(self, name: str, mode: _Mode) -> None:
        # Bounded: any client may invent user names.
        if len(self._last_modes) >= _MAX_REMEMBERED and name not in self._last_modes:
            self._last_modes.pop(next(iter(self._last_modes)))
        self._last_modes[name] = mode


class _Mode(NamedTuple):
    """A way to permit impersonation."""

    name: str
    """Part of its verbs; empty for the old mode."""
    applies: Callable[[UserInfo, UserInfo], bool]
    """Whether the mode is meant for a wanted user and the user that asks."""

    @property
    def verb(self) -> str:
        """The verb of the permission to impersonate."""
        return f"impersonate:{self.name}" if self.name else "impersonate"

    @property
    def group(self) -> str:
        """The API group of users and groups."""
        return _AUTHENTICATION if self.name else ""


def _has_only_name(wanted: UserInfo) -> bool:
    return not (wanted.uid or wanted.groups or wanted.extra)


def _is_associated_node(wanted: UserInfo, user: UserInfo) -> bool:
    # A token of a pod names the node of the pod, and only that node may be impersonated.
    node = split_node(wanted.name)
    is_own = node is not None and user.extra.get(_NODE_NAME) == (node,)
    return is_own and _has_only_name(wanted) and split_account(user.name) is not None


def _is_node(wanted: UserInfo, _: UserInfo) -> bool:
    return _has_only_name(wanted) and split_node(wanted.name) is not None


def _is_account(wanted: UserInfo, _: UserInfo) -> bool:
    return _has_only_name(wanted) and split_account(wanted.name) is not None


def _is_other(wanted: UserInfo, _: UserInfo) -> bool:
    return split_node(wanted.name) is None and split_account(wanted.name) is None


def _is_anyone(_wanted: UserInfo, _user: UserInfo) -> bool:
    return True


_ASSOCIATED_NODE: Final = _Mode("associated-node", _is_associated_node)
_MODES: Final = (
    _ASSOCIATED_NODE,
    _Mode("arbitrary-node", _is_node),
    _Mode("serviceaccount", _is_account),
    _Mode("user-info", _is_other),
    _Mode("", _is_anyone),
)


def _check_mode(authorizer: Authorizer, mode: _Mode, wanted: UserInfo, request: AuthorizationAttributes) -> UserInfo:
    """Return the impersonated user, if a mode allows it.

    Raises:
        StatusFailure: If it does not.
    """
    user = request.user
    if mode is _ASSOCIATED_NODE:
        # The permission holds for every node of the account's pods, so that it must not depend on the extra values.
        user = replace(user, extra={_ASSOCIATED_KEYS: tuple(sorted(user.extra))})
    # The constrained modes need two permissions: for the verb of the request, and for the user.
    if mode.name:
        verb = f"impersonate-on:{mode.name}:{request.verb}"
        check_authorization(authorizer, replace(request, user=user, verb=verb))
    checks = _ModeChecks(authorizer, mode, user)
    groups = checks.check_name(wanted)
    checks.check_uid(wanted.uid)
    checks.check_groups(wanted.groups)
    checks.check_extra(wanted.extra)
    return replace(wanted, groups=_add_implied_group(wanted.name, groups))


class _ModeChecks:
    """The checks of a mode for the attributes of a wanted user."""

    def __init__(self, authorizer: Authorizer, mode: _Mode, user: UserInfo) -> None:
        self._authorizer = authorizer
        self._mode = mode
        self._user = user

    def check_name(self, wanted: UserInfo) -> tuple[str, ...]:
        """Check the name; return the groups of the user, before the one for all."""
        attributes, groups = self._ask("users", wanted.name, self._mode.group), wanted.groups
        # The old mode knows users only, whatever their names mean.
        node = split_node(wanted.name) if self._mode.name else None
        if node is not None:
            name = "*" if self._mode is _ASSOCIATED_NODE else node
            attributes, groups = replace(attributes, resource="nodes", name=name), ("system:nodes",)
        if account := split_account(wanted.name):
            namespace, name = account
            attributes = replace(attributes, resource="serviceaccounts", namespace=namespace, name=name)
            # Explicit groups replace the implied ones.
            groups = groups or ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
        check_authorization(self._authorizer, attributes)
        return groups

    def check_uid(self, uid: str) -> None:
        """Check the uid, if one is wanted."""
        if uid:
            check_authorization(self._authorizer, self._ask("uids", uid, _AUTHENTICATION))

    def check_groups(self, groups: tuple[str, ...]) -> None:
        """Check every group."""
        attributes = self._ask("groups", "", self._mode.group)
        if self._mode.name:
            if "" in groups:
                raise forbidden(attributes, "impersonating the empty string group is not allowed")
            if _MASTERS in groups:
                reason = "impersonating the system:masters group is not allowed"
                raise forbidden(replace(attributes, name=_MASTERS), reason)
            # One question instead of many, for a rule that allows all of them.
            if len(groups) >= _MANY and self._allows(replace(attributes, name="*")):
                return
        for group in groups:
            check_authorization(self._authorizer, replace(attributes, name=group))

    def check_extra(self, extra: Mapping[str, tuple[str, ...]]) -> None:
        """Check every extra value."""
        attributes = self._ask("userextras", "", _AUTHENTICATION)
        if self._mode.name:
            if problem := _find_extra_problem(extra):
                raise forbidden(attributes, problem)
            is_large = len(extra) >= _MANY or sum(map(len, extra.values())) >= _MANY
            if is_large and self._allows(replace(attributes, subresource="*", name="*")):
                return
        for key, values in extra.items():
            for value in values:
                check_authorization(self._authorizer, replace(attributes, subresource=key, name=value))

    def _ask(self, resource: str, name: str, group: str) -> AuthorizationAttributes:
        return AuthorizationAttributes(
            self._user, self._mode.verb, group=group, version="v1", resource=resource, name=name
        )

    def _allows(self, attributes: AuthorizationAttributes) -> bool:
        return self._authorizer.authorize(attributes).is_allowed


def _find_extra_problem(extra: Mapping[str, tuple[str, ...]]) -> str:
    """Return why a constrained mode refuses extra values; empty if it does not."""
    for key, values in extra.items():
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        if problem := _find_key_problem(key):
            return f"impersonating an invalid key in extra is not allowed: {problem}"
        if key != key.lower():
            return f"impersonating a non-lowercase key in extra is not allowed: {quoted(key)}"
        if not values:
            return "impersonating empty values in extra is not allowed"
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return ""


def _find_key_problem(key: str) -> str:
    # The order of the checks is that of kube-apiserver, whose message has only some of them.
    host, _, path = key.partition("/")
    if not host or not path:
        return str(invalid("extra.key", key, 'must be a domain-prefixed path (such as "acme.io/foo")'))
    problems = [str(invalid("extra.key", host, problem)) for problem in name_rules.SUBDOMAIN(host)]
    if not _HTTP_PATH.fullmatch(path):
        problem = f"Invalid path (regex used for validation is '{_HTTP_PATH.pattern}')"
        problems.append(str(invalid("extra.key", path, problem)))
    return problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]" if problems else ""


def _add_implied_group(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    # A user is either authenticated or not, and an explicit group wins over the name.
    if name == ANONYMOUS.name:
        implied = UNAUTHENTICATED_GROUP
    elif UNAUTHENTICATED_GROUP in groups:
        return groups
    else:
        implied = AUTHENTICATED_GROUP
    return groups if implied in groups else (*groups, implied)


def _go_list(values: tuple[str, ...]) -> str:
    return f"[]string{{{', '.join(quoted(value) for value in values)}}}" if values else "[]string(nil)"


def _go_map(values: Mapping[str, tuple[str, ...]]) -> str:
    if not values:
        return "map[string][]string(nil)"
    return f"map[string][]string{{{', '.join(f'{quoted(key)}:{_go_list(items)}' for key, items in values.items())}}}"
