"""ServiceCIDRs."""
