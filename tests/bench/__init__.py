"""Figures of what Paca costs, each beside a baseline of the same run: ``make bench [ONLY=name]``."""
