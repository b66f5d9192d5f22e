"""ServiceAccounts."""
