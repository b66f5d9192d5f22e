"""Decisions of RBAC and of the node authorizer, with the roles that every cluster has.

Times are CPU time, the minimum of several rounds.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Final

from benchmarks.harness import measure
from benchmarks.harness.report import Column, Report, Row, Table, Target, show, unjudged
from masthead_server.authorization.authorizer import AuthorizationAttributes
from masthead_server.authorization.modes import set_authorizers
from masthead_server.authorization.policy_rules import PolicyRule, RuleSet
from masthead_server.authorization_modes import AuthorizationMode
from masthead_server.bootstrap.rbac import node_rules
from masthead_server.clock import SystemClock
from masthead_server.cluster import ClusterState
from masthead_server.controllers.bootstrap import BootstrapController
from masthead_server.resources.catalog import Catalog
from masthead_server.storage import Storage
from masthead_server.wire.user_info import UserInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.harness.measure import Figures
    from masthead_server.authorization.authorizer import Authorizer

DECISION_TARGET: Final = 20.0
"""Microseconds for a decision."""
COUNT: Final = 2_000
_EVERYONE: Final = "system:authenticated"
_ACCOUNTS: Final = ("system:serviceaccounts", "system:serviceaccounts:kube-system", _EVERYONE)
USERS: Final = {
    "a user without roles": UserInfo("jane", groups=("developers", _EVERYONE)),
    "the scheduler": UserInfo("system:kube-scheduler", groups=(_EVERYONE,)),
    "a controller": UserInfo("system:serviceaccount:kube-system:deployment-controller", groups=_ACCOUNTS),
    "a kubelet": UserInfo("system:node:one", groups=("system:nodes", _EVERYONE)),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    options = measure.parser(__doc__, repeat=20, quick=True).parse_args(arguments)
    repeat: int = 1 if options.quick else options.repeat
    best = measure.best_of(repeat, {name: _timed(run) for name, run in _cases().items()})
    rows = tuple(_row(name, figures["us"]) for name, figures in best.items())
    table = Table("authorization", "CPU time for one decision", (Column("us", "µs"),), rows)
    tables = unjudged([table]) if options.quick else (table,)  # one round is too little to judge by
    show(Report("authorization", {"repeat": repeat}, tables))


def _row(name: str, figure: float | None) -> Row:
    return Row(name, name, (figure,), Target(name.replace(" ", "_"), figure or 0.0, DECISION_TARGET))


def _cases() -> dict[str, Callable[[], object]]:
    authorizer = _make_authorizer()
    requests = {
        name: AuthorizationAttributes(user, "get", namespace="default", version="v1", resource="pods", name="web")
        for name, user in USERS.items()
    }
    return {name: partial(authorizer.authorize, request) for name, request in requests.items()}


def _make_authorizer() -> Authorizer:
    cluster = ClusterState(Storage(), SystemClock(), Catalog.builtin())
    modes = (AuthorizationMode.NODE, AuthorizationMode.RBAC)
    set_authorizers(cluster, modes, RuleSet([PolicyRule.of(rule) for rule in node_rules()]))
    cluster.add_first_namespaces()
    BootstrapController(cluster, "127.0.0.1", 6443).store_all()
    return cluster.authorizer


def _timed(run: Callable[[], object]) -> Callable[[], Figures]:
    def measured() -> Figures:
        begin = time.process_time()
        for _ in range(COUNT):
            run()
        return {"us": (time.process_time() - begin) / COUNT * 1e6}

    return measured
