"""Parsing: files become text in a process of their own, with little memory, time and no secrets.

`limited` runs it; `reading` is what runs in it, and imports neither Django nor anything of ours
that does.
"""
