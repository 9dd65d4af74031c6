from django.urls import path

from kmapp.web.views import (
    demo,
    home,
    keys,
    ledger,
    members,
    operations,
    preferences,
    search,
    session,
)

app_name = "web"
urlpatterns = [
    path("", home.home, name="home"),
    path("sign-in/", session.sign_in, name="sign_in"),
    path("sign-out/", session.sign_out, name="sign_out"),
    path("password/", session.password, name="password"),
    path("account/", session.switch_account, name="account"),
    path("preferences/", preferences.preferences, name="preferences"),
    path("search/", search.search, name="search"),
    path("search/palette/", search.palette, name="palette"),
    path("demo/", demo.demo, name="demo"),
    path("demo/load/", demo.load, name="demo_load"),
    path("keys/", keys.keys, name="keys"),
    path("keys/new/", keys.issue, name="key_issue"),
    path("keys/<uuid:pk>/rotate/", keys.rotate, name="key_rotate"),
    path("keys/<uuid:pk>/revoke/", keys.revoke, name="key_revoke"),
    path("members/", members.members, name="members"),
    path("members/new/", members.add, name="member_add"),
    path("members/<uuid:pk>/role/", members.role, name="member_role"),
    path("members/<uuid:pk>/remove/", members.remove, name="member_remove"),
    path("operations/", operations.operations, name="operations"),
    path("operations/replay/", operations.try_again, name="replay"),
    path("operations/<uuid:pk>/", operations.delivery, name="delivery"),
    path("ledger/", ledger.ledger, name="ledger"),
    path("ledger/verify/", ledger.check, name="ledger_verify"),
    path("ledger/<uuid:pk>/", ledger.commit, name="commit"),
    path("ledger/summary/", home.ledger_summary, name="ledger_summary"),
    path("operations/summary/", home.operations_summary, name="operations_summary"),
]
