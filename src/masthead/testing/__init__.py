"""What tests of your own need: pytest fixtures, with `masthead.testing.plugin`, loaded by pytest itself."""
