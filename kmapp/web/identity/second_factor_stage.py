"""The second step of sign-in."""

from typing import Any

from allauth.mfa.stages import AuthenticateStage

from kmapp.web.identity.company_session import find_company_session


class SecondFactorStage(AuthenticateStage):
    """Ask for the second factor, unless the company's provider has checked one."""

    def handle(self) -> Any:
        company = find_company_session(self.request.session, self.login.user)
        if company and company.checks_second_factor:
            return None, True
        return super().handle()
