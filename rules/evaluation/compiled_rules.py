"""Compiled rules of an account, cached in the process until a rule changes."""

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from uuid import UUID

from django.db.models import Func, TextField

from rules.evaluation.matching import Compiled, RuleSet, Written, compile_rule, rule_set
from rules.models import Rule, RuleBook

MOST_ACCOUNTS = 64
NO_BOOK = (0, "")
Stamp = tuple[int, str]


@dataclass(frozen=True, slots=True)
class _CacheEntry:
    stamp: Stamp
    rules: RuleSet
    compiled: dict[str, tuple[int, Compiled]]  # version and compiled form by rule


_cache: OrderedDict[UUID, _CacheEntry] = OrderedDict()
_lock = Lock()


def rules_of(account_id: UUID) -> RuleSet:
    """Return active and shadow rules. One query if nothing changed. Inside `acting`."""
    stamp = _stamp(account_id)
    with _lock:
        entry = _cache.get(account_id)
        if entry:
            _cache.move_to_end(account_id)
    if entry is None or entry.stamp != stamp:
        entry = _compile(account_id, stamp, entry.compiled if entry else {})
        with _lock:
            _cache[account_id] = entry
            while len(_cache) > MOST_ACCOUNTS:
                _cache.popitem(last=False)
    return entry.rules


def _stamp(account_id: UUID) -> Stamp:
    """Return the change counter with the transaction of the last change.

    A transaction that rolls back and the next one that reaches the number see different rules.
    """
    by = Func(template="xmin::text", output_field=TextField())
    books = RuleBook.objects.of(account_id).annotate(counted_by=by)
    return next(iter(books.values_list("changes", "counted_by")), NO_BOOK)


def _compile(
    account_id: UUID, stamp: Stamp, before: dict[str, tuple[int, Compiled]]
) -> _CacheEntry:
    """Compile new and changed rules; reuse the others."""
    evaluated = Rule.objects.of(account_id).evaluated()
    versions = dict(evaluated.values_list("pk", "version"))
    changed = [pk for pk, version in versions.items() if before.get(str(pk), (0,))[0] != version]
    rows = evaluated if len(changed) > len(versions) // 2 else evaluated.filter(pk__in=changed)
    fresh = {str(rule.pk): (rule.version, compile_rule(written_of(rule))) for rule in rows}
    now = {
        str(pk): fresh.get(str(pk)) or before[str(pk)]
        for pk in versions
        if str(pk) in fresh or str(pk) in before
    }
    return _CacheEntry(stamp, rule_set(one for _version, one in now.values()), now)


def written_of(rule: Rule, *, live: bool | None = None) -> Written:
    return Written(
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
