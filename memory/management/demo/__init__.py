"""Demo data of a fictional tea company, which `manage.py demo` loads through the actions."""
