"""The controllers of Services: Endpoints and EndpointSlices follow the pods of a selector."""
