"""Where the cluster is, and who we are there.

| module | what lives there |
|---|---|
| `model`, `checks`, `converted` | `Config` and its parts; what may be wrong with them |
| `loading`, `overrides`, `selection` | `load`, `from_kubeconfig` and `list_contexts`: what is looked for, and what of it counts |
| `files`, `kubeconfig`, `node` | kubeconfig files, found, read and merged |
| `incluster` | what a pod knows |
| `proxies`, `address` | proxies in the environment; addresses and their parts |
| `writeback` | renewed tokens, back to their file |
"""
