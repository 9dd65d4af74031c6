"""Personal data and secrets in text."""

KINDS = ("email", "phone", "card", "id", "secret")
