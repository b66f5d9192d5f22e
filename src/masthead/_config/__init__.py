"""Client configuration: kubeconfig files, in-cluster configuration and overrides.

| module | contents |
|---|---|
| `model`, `validation`, `descriptors` | `Config` and its parts; their validation and field conversion |
| `loader`, `overrides`, `resolution` | `load`, `from_kubeconfig`, `list_contexts`; from a context to a `Config` |
| `files`, `kubeconfig`, `yaml_node` | kubeconfig files: lookup, parsing, merging |
| `incluster` | the configuration of a pod |
| `proxies`, `address` | proxy variables of the environment; URLs |
| `writeback` | writing renewed tokens to the kubeconfig |
"""
