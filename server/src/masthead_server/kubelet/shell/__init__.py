"""The built-in shell: runs commands without a handler.

From the bottom up: `nodes` are the parts of scripts, `tokens` and `syntax` parse them. `streams` are inputs and
outputs, `devices` opens them; `state` consists of `variables`, `options`, `signals` and `jobs`. `arithmetic`,
`globs` and `expansion` compute the values of words, `redirections` opens files.

`printf` formats, `patterns` and `arguments` are for commands on text. `file_commands`, `listing`, `copy_commands`,
`text_commands`, `sed`, `tar`, `conditions`, `expr`, `date_command`, `programs` and `commands` are the programs;
`variable_builtins`, `flow_builtins`, `getopts` and `job_control` the builtins, which `builtin_table` lists.

`processes` runs a process to its end, `simple_commands` a command, and `interpreter` a script. `terminal` is a line
discipline, and `builtin` runs a process of a container.
"""
