"""ClusterRoles."""
