"""The clock forgets a host that it has not seen for 30 days, whatever the steady time of the host.

After a jump forward of more than 30 days, two hosts deleted each other's time, which never advanced.
"""

from importlib import import_module

from django.db import migrations

clock = import_module("kmapp.migrations.0007_clock")
FORGET = "DELETE FROM kmapp_clock WHERE host <> own_host AND {} < at - interval '30 days'"
ADVANCE = clock.ADVANCE.replace(FORGET.format("steady_at"), FORGET.format("seen_at"))


class Migration(migrations.Migration):
    dependencies = [("kmapp", "0007_clock")]
    operations = [
        migrations.RunSQL(
            clock.advance_clock(ADVANCE).forwards(), clock.advance_clock(clock.ADVANCE).forwards()
        ),
    ]
