"""Answers of real servers that are not as documented, as data: one file for each kind.

A shape is the bytes that a server sends, and the rule that must hold. ``test_oddities.py`` sends each one
over HTTP. To add a shape that was seen somewhere, add an entry to the file of its kind.
"""
