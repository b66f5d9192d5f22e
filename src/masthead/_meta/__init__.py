"""The machinery of API types, and the types that all groups share (apimachinery's meta/v1).

| module | contents |
|---|---|
| `gvk`, `api_versions`, `resource`, `registry` | names of kinds and resources, and the registry of their classes |
| `typeinfo`, `annotations`, `implicit`, `apitype`, `shape`, `slots`, `model` | how types are built |
| `extended_types`, `list_splitter`, `list_reader`, `wire` | how they are decoded |
| `walk`, `redacted_repr` | how they are compared, encoded and printed |
| `kinds`, `field_decoder`, `object`, `unstructured` | objects and lists, typed and unstructured |
| `metadata`, `v1`, `merge` | ObjectMeta and the rest of meta/v1; merge rules of fields |
| `quantity`, `time`, `intstr`, `names`, `labels`, `fields`, `patch`, `yaml`, `quoting`, `go_duration` | grammars |
| `plain` | access to plain data of any shape |
| `json_encoding`, `pydantic_schemas` | objects in other packages' encoders, and in pydantic |
| `secret`, `locks`, `forks`, `fork_pauses` | values that reprs and tracebacks hide; locks and event loops at a fork |
| `wall_clock` | the time of the context |
| `tls`, `green_threads`, `daemon_executor` | TLS contexts; detection of gevent and eventlet; daemon threads |
| `conditions`, `owners`, `finalizers` | helpers for controllers |
"""
