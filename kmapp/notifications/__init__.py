"""Notifications: what happened in an account that people should know, and how they learn of it.

Apps register kinds of events (`kinds`) and call `notify` inside the transaction of the cause.
People read notifications on pages and in e-mails, as they chose; webhooks report them to others.
"""
