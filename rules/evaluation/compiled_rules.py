"""Compiled rules of an account, cached in the process until a rule changes."""

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from uuid import UUID

from django.db.models import Func, Subquery, TextField

from kmapp.accounts.models import Account
from kmapp.ledger.sealed_reads import withhold
from rules.evaluation.matching import Compiled, RuleSet, Written, compile_rule, rule_set
from rules.models import Rule, RuleBook

MOST_ACCOUNTS = 64


@dataclass(frozen=True, slots=True)
class Stamp:
    """The change counter with the transaction of the last change, and whether rules are verified.

    A transaction that rolls back and the next one that reaches the number see different rules.
    """

    verify: bool
    changes: int | None
    counted_by: str | None


@dataclass(frozen=True, slots=True)
class _CacheEntry:
    stamp: Stamp
    rules: RuleSet
    compiled: dict[str, tuple[int, Compiled]]  # version and compiled form by rule
    is_complete: bool  # False: some rules are withheld


_cache: OrderedDict[UUID, _CacheEntry] = OrderedDict()
_lock = Lock()


def rules_of(account_id: UUID) -> RuleSet:
    """Return active and shadow rules. One query if nothing changed. Inside `acting`."""
    stamp = _stamp(account_id)
    with _lock:
        entry = _cache.get(account_id)
        if entry:
            _cache.move_to_end(account_id)
    if entry is None or entry.stamp != stamp or not entry.is_complete:
        reusable = entry.compiled if entry and entry.stamp.verify == stamp.verify else {}
        entry = _compile(account_id, stamp, reusable)
        with _lock:
            _cache[account_id] = entry
            while len(_cache) > MOST_ACCOUNTS:
                _cache.popitem(last=False)
    return entry.rules


def _stamp(account_id: UUID) -> Stamp:
    by = Func(template="xmin::text", output_field=TextField())
    books = RuleBook.objects.of(account_id).annotate(counted_by=by)
    columns = [Subquery(books.values(name)) for name in ("changes", "counted_by")]
    accounts = Account.objects.filter(pk=account_id)
    return Stamp(*accounts.values_list("verify_on_read", *columns).get())


def _compile(
    account_id: UUID, stamp: Stamp, before: dict[str, tuple[int, Compiled]]
) -> _CacheEntry:
    """Compile new and changed rules, unless they are withheld; reuse the others."""
    evaluated = Rule.objects.of(account_id).evaluated()
    versions = dict(evaluated.values_list("pk", "version"))
    changed = [pk for pk, version in versions.items() if before.get(str(pk), (0,))[0] != version]
    rows = evaluated if len(changed) > len(versions) // 2 else evaluated.filter(pk__in=changed)
    sealed = withhold(account_id, list(rows.with_verify_on_read(account_id)))
    fresh = {str(rule.pk): (rule.version, compile_rule(written_of(rule))) for rule in sealed}
    now = {
        str(pk): fresh.get(str(pk)) or before[str(pk)]
        for pk in versions
        if str(pk) in fresh or (str(pk) in before and pk not in changed)
    }
    is_complete = set(changed) <= {rule.pk for rule in sealed}
    return _CacheEntry(stamp, rule_set(one for _version, one in now.values()), now, is_complete)


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
