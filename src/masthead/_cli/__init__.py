"""The ``masthead`` command.

::

    main ──> a plain program: serve, demo, new, run, crds, manifests, generate
      └──> app ──> framework ──> commands/NAME      with the extra ``cli``: click and rich

| module | contents |
|---|---|
| `main` | the entry point; without the extra it still runs programs |
| `catalog` | the commands by name, for help and completion, without importing them |
| `app` | the group of commands, and how each of them ends |
| `framework` | shared options; how to write a command |
| `shared_options` | the values of shared options, and the connection that they describe |
| `failures` | from an error to a line, a hint and an exit code |
| `terminal`, `progress` | terminals, pipes and colours; bars |
| `completion` | kinds, names and namespaces at a prompt |
| `references`, `identities` | objects that arguments name |
| `fetching`, `tables`, `outputs`, `templates`, `sorting` | the output of ``get`` |
| `live_objects`, `following`, `live_rows`, `live_table` | the output of ``watch`` |
| `manifest_files`, `waiting` | manifests, and waits for their objects |
| `commands` | one module for each command |
| `demo`, `new`, `run`, `crds`, `manifests` | plain programs |
| `targets`, `reload` | the manager that ``package.module:app`` names; starting it again when its files change |
"""
