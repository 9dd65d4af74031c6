"""Routes of Hindsight."""

from django.urls import path

from interop.hindsight import banks, documents, entities, memories, operations, retain
from interop.hindsight.bank_stats import BankStats
from interop.hindsight.reflect import Reflect
from interop.hindsight.version import version

BANK = "v1/default/banks/<str:bank>"

urlpatterns = [
    path("version", version),
    path(BANK, banks.Bank.as_view()),
    path(f"{BANK}/profile", banks.BankProfile.as_view()),
    path(f"{BANK}/stats", BankStats.as_view()),
    path(f"{BANK}/operations", operations.Operations.as_view()),
    path(f"{BANK}/operations/<uuid:operation>", operations.OneOperation.as_view()),
    path(f"{BANK}/memories", retain.Retain.as_view()),
    path(f"{BANK}/memories/recall", memories.Recall.as_view()),
    path(f"{BANK}/memories/list", memories.MemoryList.as_view()),
    path(f"{BANK}/reflect", Reflect.as_view()),
    path(f"{BANK}/documents/<path:document>", documents.Document.as_view()),
    path(f"{BANK}/entities", entities.EntityList.as_view()),
    path(f"{BANK}/entities/<str:entity>", entities.OneEntity.as_view()),
]
