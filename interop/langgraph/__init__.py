"""The store endpoints of LangGraph, for `StoreClient` of its SDK."""
