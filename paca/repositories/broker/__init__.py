"""The broker: lets git in sandboxes reach the repositories of their project, with credentials that stay outside.

One process for each machine runs ``process.py``, beside the network gate, which hands it the connections to the virtual
host ``repositories.paca``. It has no database: workers tell it for each request where a repository is, and with which
credential, over a socket that no sandbox sees. It keeps them in memory only.
"""
