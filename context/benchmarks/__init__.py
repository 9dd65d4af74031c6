"""Calls of a known size, to measure how long they take to be assembled, made again and added up."""
