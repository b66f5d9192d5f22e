"""LimitRanges."""
