"""Demo data: each app loads its own; `DEMO_LOADERS` names the modules.

A loader module has a `LABEL`, `list_data(account_id)` and `load_demo(actors)`. Loading is safe to
repeat.
"""
