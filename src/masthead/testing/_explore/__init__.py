"""The explorer: runs an operator under many schedules of faults, and reports what goes wrong.

| module | contents |
|---|---|
| `faults` | the faults of a schedule, as values |
| `schedule` | schedules, and their text form |
| `workload` | the steps of a user |
| `target` | what is explored: operator, workload, and the options of each run |
| `trace` | what happened in a run |
| `control` | the control points of a run: faults at writes and reads, and the recording of both |
| `explored_environment` | an environment whose steps and waits the run controls |
| `run` | one run of one schedule |
"""
