"""Model providers behind Protocols, with deadlines.

Any OpenAI-compatible endpoint will do. What goes out is bounded in time; what comes back is
checked before anything believes it.
"""
