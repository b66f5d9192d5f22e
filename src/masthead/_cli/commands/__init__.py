"""The commands of the framework, one module each; see `masthead._cli.framework` for how to write one."""
