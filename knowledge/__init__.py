"""Knowledge: what is documented, as sources, documents and cited chunks."""
