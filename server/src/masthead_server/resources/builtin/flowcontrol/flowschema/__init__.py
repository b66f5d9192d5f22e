"""FlowSchemas."""
