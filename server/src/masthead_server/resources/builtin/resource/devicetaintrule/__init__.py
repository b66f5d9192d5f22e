"""DeviceTaintRules."""
