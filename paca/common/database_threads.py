"""How many threads of a process use the database at once: what the pool of connections is made for."""

PAGES = 16  # requests that are answered at once; more wait in line (paca/web/middleware/concurrency_limit.py)
SOCKETS = 8  # what sockets read and obey
WORKER = 4  # the turns of a worker's conversations
OTHERS = 4  # the keeper of leases, whoever hears other programs, the main thread, one to spare

TOTAL = PAGES + SOCKETS + WORKER + OTHERS
