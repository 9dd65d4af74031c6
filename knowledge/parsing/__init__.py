"""Parsing of files in a process with little memory, limited time and no secrets.

`limited` runs it; `reading` is what runs in it, and imports neither Django nor anything of ours
that does.
"""
