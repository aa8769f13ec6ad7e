"""How many threads of one process use the database at once. The connection pool has this size."""

# Requests that are handled at once; more wait (paca/web/middleware/concurrency_limit.py).
PAGES = 16
SOCKETS = 8  # reads and commands of sockets
WORKER = 4  # turns of the worker's conversations
OTHERS = 4  # the renewal of leases, external triggers, the main thread, and one spare

TOTAL = PAGES + SOCKETS + WORKER + OTHERS
