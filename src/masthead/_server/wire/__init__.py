"""The wire formats, without knowledge of any kind: requests, responses, failures, patches, JSON, YAML, protobuf."""
