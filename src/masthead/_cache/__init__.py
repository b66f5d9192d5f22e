"""Informers: a part of the cluster mirrored in memory, kept up to date, and told about.

| module | what lives there |
|---|---|
| `informer`, `arranged` | the informer, and its contract; what is arranged before it starts |
| `factory`, `selection`, `together`, `informers`, `groups` | informers that a program shares; the groups are generated |
| `handlers`, `registration`, `dispatcher` | who is told of changes, and how |
| `store`, `lister` | reading the copy |
| `listwatch`, `sources`, `checked` | what can be mirrored, and whether it gives what it should |
| `reflector`, `controller`, `ingest`, `builder` | from a source through a queue to whoever processes what comes out |
| `trouble`, `undecodable`, `proof` | errors; objects that cannot be used; whether a server is the one that we knew |
| `processor`, `applying`, `progress` | from the queue to the store, and on to the handlers |
| `storage`, `compact` | how objects are stored |
| `transforms`, `mutation` | what is done to objects before they are stored; who changes them afterwards |
| `snapshot`, `seeding` | a copy as a file, and a start from it |
| `health`, `meters` | how an informer is doing; what it counts |

What decides is in `masthead._sansio`: the list-watch machine, queues, the indexed store, buffers, resyncs.
"""
