from django.urls import path

from kmapp.web.views import home, preferences, session

app_name = "web"
urlpatterns = [
    path("", home.home, name="home"),
    path("sign-in/", session.sign_in, name="sign_in"),
    path("sign-out/", session.sign_out, name="sign_out"),
    path("account/", session.change_account, name="account"),
    path("preferences/", preferences.preferences, name="preferences"),
]
