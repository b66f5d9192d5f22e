"""ClusterRoleBindings."""
