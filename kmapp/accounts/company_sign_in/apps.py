from django.apps import AppConfig


class CompanySignInConfig(AppConfig):
    name = "kmapp.accounts.company_sign_in"
    label = "company"
