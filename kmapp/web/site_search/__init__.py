"""Search over everything in an account.

Each app registers a provider in `views.site_search`; the page and the palette query all of them.
"""
