"""PriorityLevelConfigurations."""
