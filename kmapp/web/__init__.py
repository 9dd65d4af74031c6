"""The shared parts of pages: sign-in, navigation, home, template tags and error pages.

Pages of memory, knowledge, rules and context belong to those apps. They check access through
`page_access`, and the home page and the navigation refer to them by URL name only.
"""
