"""Routes that receive no id, and those where the client chooses it; neither is probed."""

# The client may choose the id of a new row; the last tests of test_probes cover it.
CHOSEN = {"memory:api_store", "rules:api_rules"}
NAMES_WITHOUT_IDS = {
    "api": """
        agent_tools docs health liveness metrics schema version
    """,
    "context": """
        api_assemble api_comparisons api_costs api_load_tool api_results_search api_settings
        api_variants archives calls compare comparisons costs keeping keeping_set settings
        settings_set variants
    """,
    "knowledge": """
        api_ingest api_lore api_search api_sources ask bench comparison failures lore
        lore_new sources upload
    """,
    "memory": """
        api_add api_commits api_inject api_recall api_recall_text api_search
        api_store_if_worthwhile api_verify entries export lab policy policy_set summary
        topics view_save
    """,
    "rules": """
        api_evaluate api_gate api_run api_schemas api_select book book_set counts new rules
        summary
    """,
    "web": """
        home key_issue keys ledger ledger_summary ledger_verify member_add members
        operations operations_summary password preferences sign_in sign_out
    """,
}
WITHOUT_IDS = {
    f"{app}:{name}" for app, names in NAMES_WITHOUT_IDS.items() for name in names.split()
}
