from rules.models.book import RuleBook
from rules.models.decisions import RuleDecision, RuleFeedback, RuleObservation, RuleStatistics
from rules.models.promotions import RuleBacktest, RulePromotion, RuleSuggestion
from rules.models.rules import Rule, RuleVersion

__all__ = [
    "Rule",
    "RuleBacktest",
    "RuleBook",
    "RuleDecision",
    "RuleFeedback",
    "RuleObservation",
    "RulePromotion",
    "RuleStatistics",
    "RuleSuggestion",
    "RuleVersion",
]
