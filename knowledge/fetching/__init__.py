"""Fetching of requested pages, from allowed sites at public addresses only.

Off until the settings name a site. `kmapp.security.egress` checks each redirect too.
"""
