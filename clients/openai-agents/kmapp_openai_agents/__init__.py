"""Session of the OpenAI Agents SDK on kmapp."""

from kmapp_openai_agents.session import KmappSession

__all__ = ["KmappSession"]
