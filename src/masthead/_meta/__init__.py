"""The vocabulary of the API: how it names things, and the types that every group shares.

| module | what lives there |
|---|---|
| `gvk`, `resource`, `registry` | kinds, resources, and which class stands for which |
| `typeinfo`, `apitype`, `shape`, `slots`, `widen`, `cut`, `wire`, `walk`, `shown`, `model` | how types are made, read, compared, written and shown |
| `kinds`, `parts`, `object`, `unstructured` | objects and lists, with a type and without |
| `metadata`, `v1`, `merge` | ObjectMeta and the rest of meta/v1; how fields merge |
| `quantity`, `time`, `intstr`, `names`, `labels`, `fields`, `patch`, `yaml` | the small grammars |
| `secret`, `locks` | text that must not be shown by accident; locks that survive a fork |
| `conditions`, `owners`, `finalizers` | what every controller does with metadata and status |
"""
