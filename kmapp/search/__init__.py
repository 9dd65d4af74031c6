"""Search over words and vectors. It knows object ids, not the objects.

Postings are written with the row; vectors follow. Pure: bm25, fusion, spreading, passages.
"""
