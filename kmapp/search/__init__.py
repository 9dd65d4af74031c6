"""Search over words and vectors. It refers to objects by id only.

Words are indexed with the row. Workers pack their postings and write vectors later.
"""
