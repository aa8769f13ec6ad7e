"""Paca's processes killed at random and at named points, until the promises of docs/reliability.md hold."""
