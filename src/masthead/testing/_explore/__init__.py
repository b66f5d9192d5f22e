"""The explorer: runs an operator under many schedules of faults, and reports what goes wrong.

| module | contents |
|---|---|
| `faults` | the faults of a schedule, as values |
| `schedule` | schedules, and their text form |
| `workload` | the steps of a user |
| `generation/` | workloads from the schema of a custom resource |
| `target` | the operator, its workload, and the options of each run |
| `trace` | what happened in a run |
| `control` | the control points of a run: faults at writes and reads, and the recording of both |
| `explored_environment` | an environment whose steps and waits the run controls |
| `run` | one run of one schedule |
| `points`, `candidates`, `plan` | where faults can strike, which faults, and in which order |
| `child`, `workers`, `warm_up` | jobs in forked processes, with limits |
| `jobs`, `learning`, `replay` | runs in such a process, what they teach, one schedule again |
| `relocation`, `shrink`, `shrinking`, `defects` | smaller schedules, and findings that belong together |
| `budget`, `resume`, `explorer`, `explore` | the exploration itself, and its public form |
| `names`, `canonical_state`, `checksums`, `comparison` | states made comparable, and their differences |
| `random_values`, `reference` | what runs without faults have in common |
| `oracles/` | rules that tell whether something went wrong in a run |
| `findings`, `report` | what an exploration has found |
| `describe`, `rules`, `timeline` | schedules in words, the rules that were broken, the relevant part of a run |
| `replay_call` | the call that replays a schedule, as source text |
| `report_text`, `report_json`, `report_html`, `report_page`, `regression_test` | the forms of a report |
"""
