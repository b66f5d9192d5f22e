"""RoleBindings."""
