"""Model providers: any OpenAI-compatible endpoint, with deadlines and validated responses."""
