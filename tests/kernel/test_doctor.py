"""`manage.py doctor`: each check reports a real fault and its remedy."""

import io
import json
import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from django.utils import timezone
from pytest_django import Settings

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.ledger.chain_deviations import find_unsigned_since
from kmapp.ledger.checkpoints import sign_all_heads
from kmapp.ledger.models import Commit
from kmapp.ledger.signing import Statement, append_statements, load_signing_key, sign_statement
from kmapp.management.doctor import configuration, database, jobs, registry, storage, versions
from kmapp.management.doctor.ledger import check_ledger, check_signatures
from kmapp.management.doctor.registry import CheckFunction, Level, run_checks
from kmapp.outbox import heartbeats
from kmapp.outbox.models import Delivery
from kmapp.runtime import env
from kmapp.runtime.embedded.temporary_servers import free_port
from tests import makers
from tests.databases import use_database
from tests.fake_provider import FakeProvider

SECRET = "a long secret of these tests that nobody can guess, of more than fifty characters"


@pytest.fixture(autouse=True)
def healthy(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SECRET_KEY = SECRET
    settings.ALLOWED_HOSTS = ["localhost"]
    settings.BACKUPS_DIR = tmp_path / "backups"
    settings.BACKUPS_DIR.mkdir()
    (settings.BACKUPS_DIR / "kmapp-1.zip").touch()
    settings.CHECKPOINT_FILE.parent.mkdir(parents=True)
    monkeypatch.setattr(storage, "SPACE_WARNING", 0)  # the disk of the test machine may be full
    monkeypatch.setattr(heartbeats, "_written", {})
    for process in ("worker", "scheduler"):
        heartbeats.record_heartbeat(process)


def diagnose() -> dict[str, str]:
    """Return level and message of warnings and errors by check; check that each has a remedy."""
    lines = [line for line in run_checks() if line.finding.level != Level.OK]
    skipped = [line for line in lines if line.finding.message.startswith("not checked")]
    assert all(line.finding.remedy for line in lines if line not in skipped)
    return {line.check: f"{line.finding.level} {line.finding.message}" for line in lines}


def run(check: CheckFunction) -> list[str]:
    return [f"{finding.level} {finding.message}" for finding in check()]


def superuser(name: str) -> psycopg.Connection[Any]:
    address = env.address(connections["owner"].settings_dict)
    return psycopg.connect(**address | {"user": "postgres", "dbname": name}, autocommit=True)


def test_faults_of_the_schema(committed: str, acme: Account) -> None:
    with superuser(committed) as server:
        server.execute("ALTER TABLE memory_memoryentry NO FORCE ROW LEVEL SECURITY")
        server.execute("DROP POLICY own_account ON accounts_apikey")
        server.execute("DROP INDEX deliveries_dead")
        server.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'deliveries_due'::regclass"
        )
        results = {
            line.check: line.finding.message
            for line in run_checks()
            if line.finding.level == Level.ERROR
        }
        assert results.keys() == {"indexes", "row-level security"}
        assert "accounts_apikey, memory_memoryentry" in results["row-level security"]
        messages = [line.finding.message for line in run_checks() if line.check == "indexes"]
        assert any("deliveries_due is invalid" in message for message in messages)
        assert "indexes or constraints are missing: deliveries_dead" in messages

        server.execute("DELETE FROM django_migrations WHERE name = '0003_accounts_of_user'")
        assert "1 migrations are not applied: kmapp.0003" in diagnose()["migrations"]
        [remedy] = [line.finding.remedy for line in run_checks() if line.check == "migrations"]
        assert remedy.endswith(" migrate.")
        assert diagnose()["indexes"].startswith("WARNING not checked, because migrations failed")
        server.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('memory', '9999_x', now())"
        )
        messages = [line.finding.message for line in run_checks() if line.check == "migrations"]
        assert "the database has migrations of a newer release: memory.9999_x" in messages


def test_healthy_installation_another_role_and_a_database_that_is_away(
    committed: str, acme: Account
) -> None:
    makers.write(acme, "Tea at nine.")
    makers.settle()
    sign_all_heads()
    assert diagnose() == {}
    *lines, last = makers.run_command("doctor").splitlines()
    assert "No errors. Warnings: 0." in last
    assert all(line.startswith("OK") for line in lines)

    connections["default"].settings_dict["USER"], role = (
        "kmapp_owner",
        connections["default"].settings_dict["USER"],
    )
    connections["default"].close()
    try:
        [finding] = run(database.check_app_role)
        assert finding.startswith("ERROR the app role kmapp_owner is exempt")
    finally:
        connections["default"].settings_dict["USER"] = role
    use_database("absent")
    try:
        results = diagnose()
        assert results["database"].startswith("ERROR cannot connect as the app role")
        assert results["row-level security"] == "WARNING not checked, because database failed"
        assert "embedder" in results
        with pytest.raises(CommandError, match="Errors: 1, warnings: "):
            call_command("doctor", json=True, stdout=(out := io.StringIO()))
        report = json.loads(out.getvalue())
        assert (report["ok"], report["errors"]) == (False, 1)
        [wrong] = [each for each in report["findings"] if each["level"] == "ERROR"]
        assert wrong["check"] == "database"
        assert "PostgreSQL" in wrong["remedy"]
    finally:
        use_database(committed)


@pytest.mark.django_db(databases=["default", "owner"])
def test_services_that_do_not_answer(settings: Settings) -> None:
    nothing = f"http://127.0.0.1:{free_port()}/v1"
    settings.EMBEDDING_BASE_URL = settings.EMBEDDING_BATCH_BASE_URL = nothing
    settings.RERANK_BASE_URL = settings.OPENAI_BASE_URL = nothing
    settings.CHAT_MODEL = "talker"
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", free_port()
    results = diagnose()
    assert {"embedder", "chat model", "reranker", "mail server"} <= results.keys()
    assert all(results[name].startswith("ERROR") for name in ("embedder", "mail server"))
    with FakeProvider().serving() as fake:
        settings.EMBEDDING_BASE_URL = settings.EMBEDDING_BATCH_BASE_URL = fake.url
        settings.RERANK_BASE_URL = settings.OPENAI_BASE_URL = fake.url
        assert not {"embedder", "chat model", "reranker"} & diagnose().keys()
    settings.CACHES = {"default": {**settings.CACHES["default"], "LOCATION": "unix:///nowhere"}}
    results = diagnose()
    assert results["valkey"] == "ERROR does not respond"
    assert results["broker"] == results["processes"] == "WARNING not checked, because valkey failed"


def test_jobs_that_wait_or_failed(acme: Account, settings: Settings) -> None:
    for text in ("Tea at nine.", "Coffee at ten."):
        makers.write(acme, text)
    for process in ("worker", "scheduler"):
        heartbeats.delete_heartbeat(process)
    with acting(acme):
        Delivery.objects.of(acme).update(due_at=timezone.now() - timedelta(hours=2))
    assert run(jobs.check_processes) == [
        "ERROR no worker has reported for a minute",
        "ERROR no scheduler has reported for a minute",
    ]
    [finding] = run(jobs.check_queue)
    assert finding.startswith("WARNING the oldest job has waited 2 hours for ")
    settings.CHAT_MODEL = "talker"
    with acting(acme):
        Delivery.objects.of(acme).filter(pk=Delivery.objects.of(acme).values("pk")[:1]).update(
            failed_at=timezone.now()
        )
    failed, old = run(jobs.check_queue)
    assert failed == "WARNING 1 jobs failed permanently"
    assert old.startswith("ERROR")


def test_backups(settings: Settings) -> None:
    [backup] = settings.BACKUPS_DIR.iterdir()
    os.utime(backup, (time.time() - 40 * 86_400,) * 2)
    assert run(storage.check_backups) == [f"WARNING the newest is 40 days old: {backup}"]
    backup.unlink()
    assert run(storage.check_backups) == [f"WARNING there is no backup in {backup.parent}"]


def test_checkpoints(acme: Account, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    makers.write(acme, "Tea at nine.")
    sign_all_heads()
    assert [finding.split()[0] for finding in run(check_ledger)] == ["OK"]
    makers.write(acme, "Coffee at ten.")
    since = find_unsigned_since(acme.pk)
    assert since
    for seconds, level in ((60, "OK"), (61, "ERROR commits have waited 61 s")):
        with monkeypatch.context() as patch:
            patch.setattr(timezone, "now", lambda at=since + timedelta(seconds=seconds): at)
            [finding] = run(check_ledger)
        assert finding.startswith(level)
    with acting(acme):
        last = Commit.objects.of(acme).last_seq()
    key = load_signing_key(settings.CHECKPOINT_KEY_FILE)
    later = Statement(
        account=acme.pk, seq=last + 9, commit_hash="0" * 64, created_at=timezone.now()
    )
    append_statements(settings.CHECKPOINT_FILE, [sign_statement(key, later)])
    assert any(f"commit {last + 9} was signed" in each for each in run(check_ledger))
    assert run(check_signatures)[0].startswith("OK")
    text = settings.CHECKPOINT_FILE.read_text()
    settings.CHECKPOINT_FILE.write_text(text.replace("0" * 64, "1" * 64))
    [finding] = run(check_signatures)
    assert finding.startswith("ERROR 1 checkpoints do not verify")


@pytest.mark.parametrize(
    ("values", "check", "finding"),
    [
        ({"SECRET_KEY": "short"}, configuration.check_secrets, "ERROR SECRET_KEY"),
        ({"METRICS_TOKEN": "short"}, configuration.check_secrets, "WARNING METRICS_TOKEN"),
        ({"DEBUG": True}, configuration.check_debug, "WARNING DEBUG is on"),
        ({"DEBUG": True, "HOST": "::"}, configuration.check_debug, "ERROR DEBUG is on"),
        ({"LOGGING": {"json": False}}, configuration.check_debug, "WARNING LOG_JSON"),
        ({"ALLOWED_HOSTS": []}, configuration.check_hosts, "ERROR ALLOWED_HOSTS is empty"),
        ({"ALLOWED_HOSTS": ["*"]}, configuration.check_hosts, "WARNING ALLOWED_HOSTS accepts"),
        ({"HOST": "10.0.0.1"}, configuration.check_hosts, "WARNING ALLOWED_HOSTS has only local"),
        (
            {"HOST": "::", "ALLOWED_HOSTS": ["kb.test"]},
            configuration.check_hosts,
            "WARNING HOST=:: without BEHIND_TLS",
        ),
        ({"BEHIND_TLS": True}, configuration.check_hosts, "WARNING BEHIND_TLS without NUM_PROXIES"),
        (
            {"EMBEDDING_BATCH_BASE_URL": "http://models.test/v1"},
            configuration.check_providers,
            "WARNING EMBEDDING_BATCH_BASE_URL is http",
        ),
        ({"CHAT_MODEL": "m"}, configuration.check_providers, "ERROR CHAT_MODEL is set without"),
        (
            {"OPENAI_BASE_URL": "http://models.test/v1", "OPENAI_API_KEY": "k"},
            configuration.check_providers,
            "WARNING OPENAI_BASE_URL is http",
        ),
        (
            {"CHECKPOINT_PEER_URL": "http://kb.test"},
            configuration.check_checkpoint_peer,
            "WARNING CHECKPOINT_PEER_URL is http",
        ),
        (
            {"EMAIL_USE_TLS": True, "EMAIL_USE_SSL": True},
            configuration.check_email_settings,
            "ERROR EMAIL_USE_TLS and EMAIL_USE_SSL",
        ),
        ({"BEHIND_TLS": True}, configuration.check_email_settings, "WARNING no mail server"),
        (
            {"BEHIND_TLS": True, "EMAIL_HOST": "mail.test"},
            configuration.check_email_settings,
            "WARNING links in e-mails lead to localhost",
        ),
    ],
)
def test_settings(
    settings: Settings, values: dict[str, Any], check: CheckFunction, finding: str
) -> None:
    assert [each.split()[0] for each in run(check)] == ["OK"]
    for name, value in values.items():
        setattr(settings, name, value)
    assert any(each.startswith(finding) for each in run(check)), run(check)


def test_key_files_of_others_and_packages(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = tmp_path
    (tmp_path / "credentials.json").write_text("{}")
    (tmp_path / "credentials.json").chmod(0o644)
    assert any("other users" in finding for finding in run(configuration.check_secrets))
    assert run(versions.check_packages)[0].startswith("OK")
    settings.BASE_DIR = tmp_path
    (tmp_path / "requirements.txt").write_text(
        "django==1.0 \\\n    --hash=sha256:0\nnot-there==2.0\nother==1 ; sys_platform == 'cp/m'\n"
    )
    [finding] = run(versions.check_packages)
    assert "django is " in finding
    assert "instead of 1.0, not-there is missing" in finding


def test_check_that_raises_is_an_error() -> None:
    def fail() -> list[registry.DoctorFinding]:
        raise ValueError("a text that does not belong in the output")

    [finding] = registry._run_check(registry.Check("one", fail, ""))  # noqa: SLF001
    assert (finding.level, finding.message) == (Level.ERROR, "could not be checked: ValueError")
