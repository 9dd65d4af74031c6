"""Protection against untrusted input: personal data, prompt injection and requested addresses."""
