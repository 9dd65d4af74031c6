"""Search over words and vectors. It refers to objects by id only.

The transaction that writes a row indexes its words. Workers pack their postings and write vectors
later.
"""
