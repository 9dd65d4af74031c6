"""Everybody at work for half an hour while something dies every twenty seconds: `make soak`."""
