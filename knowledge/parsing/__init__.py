"""Parsing of files in a process with little memory, limited time and no secrets.

`sandbox` starts the process. `sandboxed_parser` runs in it and does not import Django.
"""
