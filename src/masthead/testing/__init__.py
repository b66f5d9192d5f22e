"""Support for tests: pytest fixtures (`masthead.testing.plugin`, loaded by pytest itself) and virtual time."""
