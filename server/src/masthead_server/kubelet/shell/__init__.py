"""The built-in shell: what commands do that no handler is registered for.

From the bottom up: `syntax` parses scripts, `state` has inputs, outputs and variables, `printf` formats,
`file_commands`, `tar` and `commands` are the commands, `interpreter` runs scripts, `terminal` is a line discipline, and
`builtin` runs a process.
"""
