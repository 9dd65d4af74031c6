"""Fetching of requested pages, from allowed sites at public addresses only.

Off until the settings name a site. Whoever names an address may want us to reach what he cannot,
so an address is read strictly, its name is resolved once, every address found is looked at, and
the connection goes to that address and no other; each redirect begins anew.
"""
