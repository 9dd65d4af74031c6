"""Protection from what other people write: personal data, instructions to models, addresses."""
