"""Copies to and from containers: what kubectl has as ``cp``.

| module | contents |
|---|---|
| `paths` | where a copy goes, and which members of an archive may go there; pure |
| `commands` | the commands to run in the container; pure |
| `progress` | how far a copy is |
| `threads` | local files are read and written in threads |
| `local_files` | files and directories that a copy writes, and nothing outside of them |
| `pack` | local files as an archive |
| `unpack` | an archive as local files |
| `container` | runs commands in a container, and explains their failures |
| `transfer` | the bytes, between threads and a command |
| `upload`, `download` | whole copies |

Archives themselves are read by `masthead._sansio.tar_decoder`.
"""
