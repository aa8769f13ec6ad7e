"""Reads the files of a sandbox for people: ``client`` asks a program that runs ``inside`` the sandbox."""
