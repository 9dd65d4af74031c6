from rules.models.decisions import RuleDecision, RuleFeedback, RuleObservation, RuleStatistics
from rules.models.promotions import RuleBacktest, RulePromotion, RuleSuggestion
from rules.models.rules import Rule, RuleVersion
from rules.models.settings import RuleBook

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
