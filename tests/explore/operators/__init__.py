"""Twelve operators with known bugs, each with a repaired twin: the explorer finds the former, and accepts the latter.

The patterns are those of bugs that Sieve (OSDI 2022) has found in public operators. Each module has

| name | contents |
|---|---|
| `PATTERN` | ``crash``, ``stale``, ``unobserved`` or ``conflict`` |
| `ORACLES` | the rules of the explorer, any of which may report the bug |
| `CRDS` | the custom resources |
| `make_buggy`, `make_fixed` | make the manager; they take the fake of `EXTERNAL`, if there is one |
| `workload` | the steps of a user |
"""
