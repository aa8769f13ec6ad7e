"""The program that reads, compares and writes files inside a sandbox. It is sent there with each request, so it
imports nothing but the standard library, these modules and modules of the runner.
"""
