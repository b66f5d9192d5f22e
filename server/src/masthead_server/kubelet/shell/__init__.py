"""The built-in shell: runs commands without a handler.

From the bottom up: `nodes` are the parts of scripts, `syntax` parses them, `state` has inputs, outputs and variables,
`devices` opens inputs, `arithmetic` and `expansion` compute the values of words, `jobs` are background commands.
`printf` formats, `patterns` and `arguments` are for commands on text. `file_commands`, `copy_commands`,
`text_commands`, `sed`, `tar` and `commands` are the commands, `control` and `job_control` the builtins.
`interpreter` runs scripts, `terminal` is a line discipline, and `builtin` runs a process.
"""
