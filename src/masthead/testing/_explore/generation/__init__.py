"""Workloads from the schema of a custom resource.

| module | contents |
|---|---|
| `pattern_samples` | strings that match a regular expression |
| `known_values` | values that names and formats of fields suggest |
| `value_generation` | values of a schema: valid, suspect and forbidden ones |
| `state_changes` | changes of an object's state, field by field |
| `object_states` | the states that a definition allows, and a first one |
| `user_actions` | actions of users on objects, and of other clients on children |
| `generated_workload` | `generate_workload` |
"""
