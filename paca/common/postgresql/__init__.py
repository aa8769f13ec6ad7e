"""Django's PostgreSQL backend, with a pool that survives the loss of its connections."""
