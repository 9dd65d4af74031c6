"""Search: words and meanings of texts. It knows object ids, never what the objects are.

Postings are written with the row; vectors follow. Pure: bm25, fusion, spreading, passages.
"""
