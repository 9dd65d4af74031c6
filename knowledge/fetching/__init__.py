"""Fetching one page that somebody asked for: only from sites on a list, only at public addresses.

Off until the settings name a site. Whoever names an address may want us to reach what he cannot,
so an address is read strictly, its name is resolved once, every address found is looked at, and
the connection goes to that address and no other; each redirect begins anew.
"""
