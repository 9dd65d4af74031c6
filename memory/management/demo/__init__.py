"""A small tea company that does not exist: something to look at in an empty account.

Everything is invented. `manage.py demo` tells the story through the product's own actions.
"""
