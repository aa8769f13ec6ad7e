"""Random requests over the OpenAPI schema of a running server: `make fuzz`."""
