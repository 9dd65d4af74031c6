"""Accounts: tenants, their members and API keys, and the isolation between tenants.

Every row that belongs to an account is read and written inside `acting(account)`; row-level
security refuses the rest.
"""
