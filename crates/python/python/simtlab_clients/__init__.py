"""Prepares frameworks for the virtual device when Python imports them.

The package `simtlab` and the command `simtlab exec` both carry these modules. They import nothing but the standard library until the
framework that they are for is imported, and they never install or download anything.
"""
