"""IPAddresses."""
