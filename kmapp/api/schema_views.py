"""Views of the OpenAPI schema, the API documentation and the version."""

from functools import lru_cache
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import override
from django.views.decorators.http import require_safe
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularJSONAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

import kmapp
from kmapp.api.views import AlwaysJSON


class Schema(SpectacularJSONAPIView):
    """OpenAPI 3.1 schema; it contains no data, so no key is needed."""

    authentication_classes = ()
    permission_classes = ()
    content_negotiation_class = AlwaysJSON
    http_method_names = ["get", "head"]

    @extend_schema(exclude=True)
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return Response(_build_schema(settings.ROOT_URLCONF))


@lru_cache(maxsize=4)
def _build_schema(_urls: str) -> Any:
    """Return the schema, generated once per process because that takes a second."""
    with override("en"):
        generator = Schema.generator_class()
        return generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]


@extend_schema(exclude=True)
class Version(APIView):
    authentication_classes = ()
    permission_classes = ()
    content_negotiation_class = AlwaysJSON
    http_method_names = ["get", "head"]

    def get(self, request: Request) -> Response:
        return Response({"name": "kmapp", "version": kmapp.__version__, "api": "v1"})


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """Render Swagger UI from local files."""
    return render(request, "api/docs.html")
