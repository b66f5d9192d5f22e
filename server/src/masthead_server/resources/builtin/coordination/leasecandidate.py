"""LeaseCandidates: validation."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead._schema.errors import invalid, required
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.validation.checks import follows, immutable, unsupported
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_OLDEST: Final = "OldestEmulationVersion"
_NUMBER: Final = "(0|[1-9][0-9]{0,18})"
_IDENTIFIERS: Final = r"[0-9A-Za-z-]{1,256}(?:\.[0-9A-Za-z-]{1,256}){0,16}"
_SEMANTIC: Final = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-({_IDENTIFIERS}))?(?:\+{_IDENTIFIERS})?", re.ASCII)
_Precedence: TypeAlias = "tuple[tuple[int, ...], bool, tuple[tuple[bool, int, str], ...]]"
_ZERO: Final[_Precedence] = ((0, 0, 0), True, ())


def candidate_errors(candidate: Plain) -> Errors:
    """Return the errors of a LeaseCandidate."""
    spec = part(candidate, "spec")
    emulated, binary = text(spec, "emulationVersion"), text(spec, "binaryVersion")
    errors: Errors = [] if spec.get("leaseName") else [required("spec.leaseName")]
    if emulated and _precedence(emulated) is None:
        errors.append(invalid("spec.emulationVersion", emulated, "must be a valid semantic version"))
    if not binary:
        errors.append(required("spec.binaryVersion"))
    elif _precedence(binary) is None:
        errors.append(invalid("spec.binaryVersion", binary, "must be a valid semantic version"))
    # A version that is invalid counts as 0.0.0.
    if binary and emulated and (_precedence(binary) or _ZERO) < (_precedence(emulated) or _ZERO):
        why = "must be greater than or equal to `emulationVersion`"
        errors.append(invalid("spec.binaryVersion", binary, why))
    return errors + _strategy_errors(text(spec, "strategy"), _precedence(emulated) or _ZERO)


def _strategy_errors(strategy: str, emulated: _Precedence) -> Errors:
    if not strategy:
        return [required("spec.strategy")]
    errors: Errors = []
    if strategy == _OLDEST and emulated == _ZERO:
        why = f"must be specified when `strategy` is '{_OLDEST}'"
        errors.append(required("spec.emulationVersion", why))
    # kube-apiserver names the field twice.
    path = "spec.strategy.strategy"
    if "/" in strategy:
        return errors + follows(path, strategy, names.qualified_name)
    return errors if strategy == _OLDEST else [*errors, unsupported(path, strategy, (_OLDEST,))]


def _precedence(version: str) -> _Precedence | None:
    """What versions are compared by; None if it is no semantic version."""
    match = _SEMANTIC.fullmatch(version)
    if match is None:
        return None
    *numbers, before = match.groups()
    # A release comes after its pre-releases, and numbers come before words.
    words = tuple((not word.isdigit(), int(word) if word.isdigit() else 0, word) for word in (before or "").split("."))
    return tuple(map(int, numbers)), not before, words if before else ()


def candidate_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a LeaseCandidate."""
    leases = (text(part(state, "spec"), "leaseName") for state in (new, old))
    return candidate_errors(new) + immutable("spec.leaseName", *leases)


BEHAVIOR: Final = Behavior(hooks=StrategyHooks(validate_create=candidate_errors, validate_update=candidate_changes))
