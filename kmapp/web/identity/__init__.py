"""Sign-in, password reset and second factors: flows of django-allauth with pages of kmapp."""
