"""Commands in containers: what client-go has as ``remotecommand``.

| module | contents |
|---|---|
| `streams` | `RemoteInput` and `RemoteOutput`: stdin, stdout and stderr of a process |
| `process` | `RemoteProcess`: a command in a container, or a container's main process, and its streams |
| `concurrency` | coroutines that belong together |
| `source_file` | reads of files for stdin |
| `stdin` | what can be sent to stdin, piece by piece |
| `results` | `ExecResult`, and the errors of commands |
| `containers` | which container is meant if none is named |
| `terminal` | the local terminal: raw mode, its size, and its restoration |
| `interactive` | a process at the local terminal |
"""
