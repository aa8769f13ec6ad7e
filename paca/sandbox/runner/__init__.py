"""The program inside a sandbox, its process 1: starts commands, touches files, answers one worker.

Standard library only, and sparing with it: a start is bound by imports, so ``json``, ``socket``,
``selectors``, ``signal`` and ``dataclasses`` (30 ms together) are left out of its way.
"""
