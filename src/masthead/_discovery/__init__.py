"""What the cluster serves, and which resource a name, a kind or a short name stands for.

| module | what lives there |
|---|---|
| `model` | what is found: `DiscoveryResult`, `ApiGroup`, `ApiResource`, `ServerVersion` |
| `aggregated`, `legacy` | the two forms in which servers say it |
| `survey` | one look at everything, in whichever form |
| `client` | `DiscoveryClient`: asks, remembers, and asks again when that is worth it |
| `documents`, `disk`, `flights` | what was fetched, kept in memory and in files; one request for all who wait |
| `openapi` | the schemas |
| `index` | names, kinds and short names, looked up in what was found |
| `mapper` | `RestMapper`: the same, with a second look at the server before it says no |
"""
