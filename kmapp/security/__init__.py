"""Protection against untrusted input: personal data, prompt injection, viruses and addresses."""
