"""Requests to addresses that other people named: pages to fetch, and receivers of webhooks.

Such an address may be an attempt to reach an internal service, so addresses are parsed strictly,
the name is resolved once, every resolved IP address is checked, and the connection goes to one of
these.
"""
