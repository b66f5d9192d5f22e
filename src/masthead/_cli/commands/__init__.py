"""The commands of the framework, one module each; `masthead._cli.framework` says how to write one."""
