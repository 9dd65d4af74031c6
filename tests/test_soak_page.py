"""The page of the soak test states how long and how high the load was."""

from tests.soak.__main__ import SETTLE_SECONDS, describe_duration, describe_turns
from tests.soak.clients import describe_day
from tests.soak.verification import verify_load


def test_page_states_the_hours_of_load_and_the_end_of_the_last_job() -> None:
    text = describe_duration(20, 10, 1_712)
    assert "The load lasted 20 minutes (0.3 hours)." in text
    assert "which compresses 3.3 hours at that rate." in text
    assert "The last job ended 1,712 s after the end of the load, 49 minutes after its" in text
    ordinary = describe_duration(30, 1, 60)
    assert ordinary.startswith("The load lasted 30 minutes (0.5 hours). At rate x1 clients write ")
    assert "The last job ended 60 s " in ordinary
    assert "still pending 3,602 s" in describe_duration(30, 1, SETTLE_SECONDS + 2)


def test_page_states_the_share_of_the_intended_load() -> None:
    text = describe_turns(45_000, 60_000)
    assert text.startswith("Clients repeated their operations 45,000 times, 75 % of the 60,000 ")


def test_page_states_what_a_day_at_rate_x1_is() -> None:
    text = describe_day()
    assert "write 47,760 memories, search 43,200 times, review 4,800 proposals, erase 1,920" in text


def test_run_with_less_than_half_of_the_intended_load_fails() -> None:
    assert verify_load(6_000, 60_000) == ("share of the intended load", "10%", False)
    assert verify_load(30_000, 60_000).holds
