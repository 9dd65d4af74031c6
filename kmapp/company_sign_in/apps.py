from django.apps import AppConfig


class CompanySignInConfig(AppConfig):
    name = "kmapp.company_sign_in"
    label = "company"
