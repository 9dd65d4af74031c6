"""The reliability promises, the tests that carry them, and the figures that the tests measured.

A test is marked `@pytest.mark.promise(7)` and may report a figure with the fixture `record_figure`.
`pytest --promises FOLDER` stores the results; `python -m tests.promises` prints one table of them.
"""
