"""Fetching of requested pages, from allowed sites at public addresses only.

Off until the settings name a site. The checks of `kmapp.egress` apply to each redirect too.
"""
