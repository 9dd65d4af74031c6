"""Search over words and vectors. It refers to objects by id only.

Postings are written with the row; workers write vectors later.
"""
