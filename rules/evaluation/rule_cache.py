"""Compiled rules of an account, cached in the process until a rule changes."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Func, Subquery, TextField

from kmapp.accounts.models import Account
from kmapp.ledger.read_verification import withhold_mismatches
from kmapp.runtime.in_process_caches import LruCache
from rules.evaluation.matching import (
    CompiledRule,
    RuleDefinition,
    RuleSet,
    build_rule_set,
    compile_rule,
)
from rules.evaluation.patterns import reserve_space
from rules.models import Rule, RuleBook
from rules.models.rules import EVALUATED_STATES

MAX_ACCOUNTS = 64


@dataclass(frozen=True, slots=True)
class CacheVersion:
    """The change counter with the transaction of the last change, and whether rules are verified.

    The counter alone is not enough: after a rollback, another transaction counts to the same number
    with different rules.
    """

    verify: bool
    changes: int | None
    counted_by: str | None


@dataclass(frozen=True, slots=True)
class _CacheEntry:
    version: CacheVersion
    rules: RuleSet
    compiled: dict[str, tuple[int, CompiledRule]]  # version and compiled form by rule
    is_complete: bool  # False: some rules are withheld


_cache: LruCache[_CacheEntry] = LruCache(MAX_ACCOUNTS)


def load_rules(account_id: UUID) -> RuleSet:
    """Return active and shadow rules. One query if nothing changed. Inside `acting`."""
    version = _load_cache_version(account_id)
    entry = _cache.get(account_id)
    if entry is None or entry.version != version or not entry.is_complete:
        reusable = entry.compiled if entry and entry.version.verify == version.verify else {}
        entry = _compile_changed(account_id, version, reusable)
        _cache.put(account_id, entry)
    return entry.rules


def _load_cache_version(account_id: UUID) -> CacheVersion:
    by = Func(template="xmin::text", output_field=TextField())
    books = RuleBook.objects.of(account_id).annotate(counted_by=by)
    columns = [Subquery(books.values(name)) for name in ("changes", "counted_by")]
    accounts = Account.objects.filter(pk=account_id)
    return CacheVersion(*accounts.values_list("verify_on_read", *columns).get())


def _compile_changed(
    account_id: UUID, version: CacheVersion, reusable: dict[str, tuple[int, CompiledRule]]
) -> _CacheEntry:
    """Compile new and changed rules, unless they are withheld; reuse the others."""
    rules = Rule.objects.of(account_id)
    evaluated = rules.evaluated_when_sealed(account_id) if version.verify else rules.evaluated()
    versions = dict(evaluated.values_list("pk", "version"))
    changed = [pk for pk, number in versions.items() if reusable.get(str(pk), (0,))[0] != number]
    rows = evaluated if len(changed) > len(versions) // 2 else evaluated.filter(pk__in=changed)
    sealed = withhold_mismatches(account_id, list(rows.with_verify_on_read(account_id)))
    fresh = {
        str(rule.pk): (rule.version, compile_rule(build_definition(rule)))
        for rule in sealed
        if rule.state in EVALUATED_STATES
    }
    compiled = {
        str(pk): fresh.get(str(pk)) or reusable[str(pk)]
        for pk in versions
        if str(pk) in fresh or (str(pk) in reusable and pk not in changed)
    }
    active = [one for _number, one in compiled.values() if one.rule.live]
    conditions = (each for one in active for each in (one.condition, *one.exceptions))
    reserve_space(len(frozenset[str]().union(*(each.patterns for each in conditions))))
    is_complete = set(changed) <= {rule.pk for rule in sealed}
    return _CacheEntry(
        version, build_rule_set(one for _number, one in compiled.values()), compiled, is_complete
    )


def build_definition(rule: Rule, *, live: bool | None = None) -> RuleDefinition:
    return RuleDefinition(
        id=str(rule.pk),
        lineage=str(rule.lineage),
        name=rule.name,
        live=rule.state == Rule.State.ACTIVE if live is None else live,
        when=rule.when if isinstance(rule.when, dict) else {},
        then=rule.then if isinstance(rule.then, dict) else {},
        exceptions=tuple(each for each in rule.exceptions if isinstance(each, dict)),
        priority=rule.priority,
        weight=rule.weight,
        audience=rule.audience,
        audience_id=rule.audience_id,
        scope=rule.scope,
        created_at=rule.created_at,
        commit_id=rule.commit_id,
    )
