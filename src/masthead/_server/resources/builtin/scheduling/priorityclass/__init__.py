"""PriorityClasses."""
