"""The network gate of sandboxes: a proxy that lets commands reach the hosts that their project allows, and no others.

One process for each machine runs ``process.py``, beside the workers, and outlives them as sandboxes do. It uses the
standard library only, holds no key and no address of the database, and decides each request with ``decision.py``.
"""
