"""Fetching of requested pages, from allowed sites at public addresses only.

Off until the settings name a site. A requested address may be an attempt to reach an internal
service, so addresses are parsed strictly, the name is resolved once, every resolved IP address is
checked, and the connection goes to one of these. The same checks apply to each redirect.
"""
