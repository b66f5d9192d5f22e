"""Service controllers: Endpoints and EndpointSlices follow the pods of a Service's selector."""
