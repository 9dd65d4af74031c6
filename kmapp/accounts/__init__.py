"""Accounts: who owns which rows, who may act for them, and the wall between them.

Every row that belongs to an account is read and written inside `acting(account)`; row-level
security refuses the rest.
"""
