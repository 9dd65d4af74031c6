"""Company sign-in: people enter an account through the identity provider of their company."""
