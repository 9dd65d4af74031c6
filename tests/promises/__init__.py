"""What the product promises under fire, which tests carry it, and what they measured.

A test that carries a promise is marked `@pytest.mark.promise(7)` and may say a figure through the
fixture `measured`. `pytest --promises FOLDER` keeps what came of it; `python -m tests.promises`
makes one table of all runs in the folder.
"""
