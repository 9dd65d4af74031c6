"""LangGraph store on kmapp."""

from kmapp_langgraph.store import KmappStore

__all__ = ["KmappStore"]
