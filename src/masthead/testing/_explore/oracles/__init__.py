"""Oracles: rules that tell from the record of a run whether something went wrong in it.

| module | contents |
|---|---|
| `rules` | the names and switches of the oracles, and what they ignore |
| `invariants` | rules of the operator's author, checked during a run |
| `case` | a run under judgement |
| `progress` | runs that do not come to rest, remaining failures, errors of the workload, violated invariants |
| `late_state` | end states that depend on the way |
| `end_state` | missing, surplus and different objects; stuck finalizers; dead owners; external systems; recovery |
| `counts` | objects that were lost on the way, repeated and skipped effects |
| `repetition` | changes after a mere restart, fights |
| `conflicts` | lost updates, writes without the lease |
| `judge` | all of them together |
"""
