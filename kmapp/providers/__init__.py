"""Model providers: the outside world, behind small Protocols and a clock.

Any OpenAI-compatible endpoint will do. What goes out is bounded in time; what comes back is
checked before anything believes it.
"""
