"""What the server may connect to."""

from kmapp.runtime import env

# Pages are fetched from these public hosts, and from these hosts ("wiki.corp:8080") in private
# networks. By default, nothing is fetched.
KNOWLEDGE_FETCH_HOSTS = env.words("KNOWLEDGE_FETCH_HOSTS")
KNOWLEDGE_FETCH_PRIVATE = env.words("KNOWLEDGE_FETCH_PRIVATE")
# Webhooks of accounts are sent to these public hosts ("*": all of them), and to these hosts
# ("automation.corp:5678") in private networks. By default, none is sent.
WEBHOOK_HOSTS = env.words("WEBHOOK_HOSTS")
WEBHOOK_PRIVATE = env.words("WEBHOOK_PRIVATE")
# Identity providers of accounts may be on these public hosts ("*": all of them), and on these hosts
# ("login.corp:8443") in private networks. By default, there is no company sign-in.
SIGN_IN_HOSTS = env.words("SIGN_IN_HOSTS")
SIGN_IN_PRIVATE = env.words("SIGN_IN_PRIVATE")
# Other kmapps that may be remote sources of accounts, such as https://kb.example.org.
REMOTE_BASE_URLS = [url.rstrip("/") for url in env.words("REMOTE_BASE_URLS")]
