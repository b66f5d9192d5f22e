"""Storage controllers: they bind claims to volumes, and provision the missing ones."""
