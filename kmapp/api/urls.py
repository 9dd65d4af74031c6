"""Operations: not about anybody's data."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
