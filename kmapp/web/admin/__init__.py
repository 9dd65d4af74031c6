"""The Django admin: its site, shared base classes, and the admin classes of the kernel's models."""
