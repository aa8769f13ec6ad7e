"""Django's PostgreSQL, with a pool that survives the loss of its connections."""
