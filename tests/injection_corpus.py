"""Memories that inject instructions, and harmless memories with similar words. All invented."""

from tests.injection_report import load_texts

INJECTIONS = load_texts("injections.txt")
HARMLESS = load_texts("harmless.txt")
