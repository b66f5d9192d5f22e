"""ResourceClaimTemplates."""
