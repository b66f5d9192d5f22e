"""The wire formats, independent of kinds: requests, responses, failures, patches, JSON, YAML, protobuf."""
