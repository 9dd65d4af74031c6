"""Checks of an installation for `manage.py doctor`: each finding says what is wrong and what to do.

A check is a function under `@check` in a module of this package. Checks read and start nothing.
"""
