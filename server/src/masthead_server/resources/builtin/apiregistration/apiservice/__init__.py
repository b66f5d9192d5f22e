"""APIServices."""
