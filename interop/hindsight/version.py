"""The version of the API of Hindsight, and its features."""

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

import kmapp

FEATURES = {
    **dict.fromkeys(("observations", "bank_config_api", "bank_llm_health", "llm_trace"), False),
    **dict.fromkeys(("file_upload_api", "document_export_api", "document_import_api"), False),
    **dict.fromkeys(("mcp", "worker", "audit_log", "store_document_text"), True),
}


@require_safe
def version(request: HttpRequest) -> JsonResponse:
    """Return the version and the features; no key is needed."""
    return JsonResponse({"api_version": kmapp.__version__, "features": FEATURES})
