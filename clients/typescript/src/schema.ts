export interface paths {
    "/v1/agent-tools": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Return the tools that the key may use, in the format of OpenAI's function calling.
         *
         *     Needs any scope that reads or writes.
         */
        get: operations["agent_tools_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/checkpoints": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Checkpoints of another kmapp, sent with keys of this account.
         *
         *     GET returns the newest of each of its accounts. POST stores later ones and returns them
         *     countersigned: with a signature of our key over the line `kmapp countersignature` and the
         *     canonical JSON.
         *
         *     Needs the scope `ledger:countersign`.
         */
        get: operations["checkpoints_get"];
        put?: never;
        /**
         * @description Checkpoints of another kmapp, sent with keys of this account.
         *
         *     GET returns the newest of each of its accounts. POST stores later ones and returns them
         *     countersigned: with a signature of our key over the line `kmapp countersignature` and the
         *     canonical JSON.
         *
         *     Needs the scope `ledger:countersign`.
         */
        post: operations["checkpoints"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/context/assemble": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Assemble a call: prompt, messages and tools within the budget, with references.
         *
         *     `context_cost` lists what was dropped, with tokens; the report is stored.
         *
         *     Needs the scope `context:write`.
         */
        post: operations["context_assemble"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/context/comparisons": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Compare two policies over the last calls, from their stored inputs. Runs in a worker.
         *
         *     Needs the scope `context:read`.
         */
        get: operations["context_comparisons_get"];
        put?: never;
        /**
         * @description Compare two policies over the last calls, from their stored inputs. Runs in a worker.
         *
         *     Needs the scope `context:write`.
         */
        post: operations["context_comparisons"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/context/comparisons/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Return the progress and the totals of a comparison.
         *
         *     Needs the scope `context:read`.
         */
        get: operations["context_comparisons_id_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/context/comparisons/{id}/calls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description List the differences of a comparison, call by call.
         *
         *     Needs the scope `context:read`.
         */
        get: operations["context_comparisons_id_calls_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/context/costs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Return tokens and cost of the last days by section, agent, tool, model or variant.
         *
         *     Days are in the server's time zone. Costs are available for models with prices in the settings.
         *
         *     Needs the scope `context:read`.
         */
        get: operations["context_costs_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/context/load-tool": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Return the tool `load_tool_history` and the paragraph for the system prompt.
         *
         *     Needs the scope `context:read`.
         */
        get: operations["context_load_tool_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/context/prepare": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Replace long tool results by placeholders, and load the relevant ones.
         *
         *     Results of the last `keep_turns` turns remain. The response lists what was loaded and why.
         *
         *     Needs the scope `context:write`.
         */
        post: operations["context_prepare"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/context/reports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description List the assembled calls, newest first.
         *
         *     Needs the scope `context:read`.
         */
        get: operations["context_reports_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/context/reports/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Return one call: its full report, its outcome and its OpenTelemetry attributes.
         *
         *     Needs the scope `context:read`.
         */
        get: operations["context_reports_id_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/context/reports/{id}/outcome": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Report the outcome of a call: success, the provider's token counts and latency.
         *
         *     Needs the scope `context:write`.
         */
        post: operations["context_reports_id_outcome"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/context/reports/{id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Replay a recorded call from its stored inputs and compare. Nothing is sent or stored.
         *
         *     Expired inputs return 410 `inputs_expired`.
         *
         *     Needs the scope `context:read`.
         */
        post: operations["context_reports_id_replay"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/context/restore": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Replace loaded results by their placeholders again, for the next turn.
         *
         *     Needs the scope `context:read`.
         */
        post: operations["context_restore"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/context/settings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Return or change the settings of calls: assembly, retention and prices.
         *
         *     Needs the scope `context:read`.
         */
        get: operations["context_settings_get"];
        put?: never;
        /**
         * @description Return or change the settings of calls: assembly, retention and prices.
         *
         *     Needs the scope `admin`.
         */
        post: operations["context_settings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/context/variants": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Compare variants by success, latency and cost, from the reported outcomes.
         *
         *     Needs the scope `context:read`.
         */
        get: operations["context_variants_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Return the state of asynchronous work.
         *
         *     A key without the scope memory:read sees the work of the areas that it may read or write, and
         *     the results of those that it may read.
         *
         *     Needs any scope that reads or writes.
         */
        get: operations["events_id_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/knowledge/documents/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Return a document, or erase all its versions permanently. Citations of them return 410.
         *
         *     Erasing needs no `confirm_token`, because the request names one document. It needs the scope
         *     `knowledge:trust` unless the source of the document is untrusted.
         *
         *     Needs the scope `knowledge:read`.
         */
        get: operations["knowledge_documents_id_get"];
        put?: never;
        post?: never;
        /**
         * @description Return a document, or erase all its versions permanently. Citations of them return 410.
         *
         *     Erasing needs no `confirm_token`, because the request names one document. It needs the scope
         *     `knowledge:trust` unless the source of the document is untrusted.
         *
         *     Needs the scope `knowledge:write`.
         */
        delete: operations["knowledge_documents_id_delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/knowledge/get": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Read the text that a citation names, exactly as it was cited.
         *
         *     Needs the scope `knowledge:read`.
         */
        post: operations["knowledge_get"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/knowledge/ingest": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Ingest documents of one source. Documents with an unchanged digest are not read again.
         *
         *     If their title, URL or revision is new, it is stored, and they are among the `changed` ones.
         *     A key without the scope knowledge:trust can only create and update untrusted sources.
         *
         *     Plain text is searchable when the response arrives. Workers parse other files and fetch pages
         *     with `fetch`; use `event_ids` to follow their progress. A changed document keeps its unchanged
         *     chunks.
         *
         *     Needs the scope `knowledge:write`.
         */
        post: operations["knowledge_ingest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/knowledge/lorebook/evaluate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Return the lorebook entries that a conversation triggers, within a token budget.
         *
         *     Nothing is stored: send the `state` of the previous response, which sticky entries and
         *     cooldowns depend on.
         *
         *     Needs the scope `knowledge:read`.
         */
        post: operations["knowledge_lorebook_evaluate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/knowledge/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Find passages of documents by words and by meaning, best first, each with its citation.
         *
         *     Needs the scope `knowledge:read`.
         */
        post: operations["knowledge_search"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/knowledge/sources": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description List the sources of the account, or create or update one.
         *
         *     Needs the scope `knowledge:read`.
         */
        get: operations["knowledge_sources_get"];
        put?: never;
        /**
         * @description List the sources of the account, or create or update one.
         *
         *     Needs the scope `knowledge:write`.
         */
        post: operations["knowledge_sources"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/knowledge/sources/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Return a source, or erase it permanently with its documents. Citations of them return 410.
         *
         *     Erasing needs no `confirm_token`, because the request names one source. It needs the scope
         *     `knowledge:trust` unless the source is untrusted.
         *
         *     Needs the scope `knowledge:read`.
         */
        get: operations["knowledge_sources_id_get"];
        put?: never;
        post?: never;
        /**
         * @description Return a source, or erase it permanently with its documents. Citations of them return 410.
         *
         *     Erasing needs no `confirm_token`, because the request names one source. It needs the scope
         *     `knowledge:trust` unless the source is untrusted.
         *
         *     Needs the scope `knowledge:write`.
         */
        delete: operations["knowledge_sources_id_delete"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Return the versions of a memory, oldest first, each with its commit.
         *
         *     A page may have fewer versions than the limit, if they are very long.
         *
         *     Needs the scope `memory:read`.
         */
        get: operations["memory_id_history_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/add": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Add a conversation to memory.
         *
         *     With `infer` (the default), a worker extracts facts from the messages and compares each with
         *     existing memories: it is added, it updates or contradicts one of them, or it exists already.
         *     `/v1/events/{event_id}` reports the result. Without a configured chat model, the messages are
         *     stored as memories immediately, and their extraction waits until a model is configured. Invalid
         *     parts of the model's response are left out and listed in `refused`; if no part is valid, nothing
         *     changes and the event is FAILED.
         *
         *     Needs the scope `memory:write`.
         */
        post: operations["memory_add"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/commits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Return the commits of the account, oldest first.
         *
         *     Needs the scope `memory:read`.
         */
        get: operations["memory_commits_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/erase": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Erase memories permanently. The first call counts them and returns the token to confirm.
         *
         *     Erasing the last memory of a user also erases everything else with that `user_id`: tool results,
         *     recorded calls and their parts, tool decisions, conversations, and the saved views, searches and
         *     exports that name the user. A request with nothing but a `user_id` erases all of these, even if
         *     the user has no memories. The ledger still proves that the memories existed, but not what they
         *     contained.
         *
         *     Needs the scope `memory:erase`.
         */
        post: operations["memory_erase"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/feedback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Rate a memory: useful (positive), outdated (negative) or wrong (very_negative).
         *
         *     The rating changes the salience of an active memory, and thereby its rank in searches. Each key
         *     counts once per run; a new rating replaces the previous one. With `rule_node_id` the rating is
         *     for that rule, as in /v1/rules/{id}/feedback, which also needs the scope rules:write.
         *
         *     Needs the scope `memory:write`.
         */
        post: operations["memory_feedback"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/forget": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Forget memories: hide them from recall. A person can restore them.
         *
         *     A memory named by its ID is forgotten immediately. Several memories are counted first, and the
         *     response contains the token to confirm. Workers forget large selections; `/v1/events/{id}`
         *     reports the progress of each of `event_ids`.
         *
         *     Needs the scope `memory:write`.
         */
        post: operations["memory_forget"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/get": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Return a memory by its ID, client ID or citation; with `as_of`, at an earlier time.
         *
         *     Needs the scope `memory:read`.
         */
        post: operations["memory_get"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/inject": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Return a block of memories for a prompt.
         *
         *     With a `run_id`, half of the memories are from that run, the others from everything else that
         *     the IDs can see.
         *
         *     Needs the scope `memory:read`.
         */
        post: operations["memory_inject"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/judgements": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Judge which memories are relevant to which questions, or export all judgements.
         *
         *     Needs the scope `admin`.
         */
        get: operations["memory_judgements_get"];
        put?: never;
        /**
         * @description Judge which memories are relevant to which questions, or export all judgements.
         *
         *     Needs the scope `memory:write`.
         */
        post: operations["memory_judgements"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/list": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description List memories, newest first.
         *
         *     A key without the scope admin lists the memories that are visible to the given IDs, and those
         *     that it wrote itself; an admin key lists all memories of the account. With `as_of`, list them at
         *     an earlier time. A page may have fewer memories than the limit, if they are very long.
         *
         *     Needs the scope `memory:read`.
         */
        post: operations["memory_list"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/rankings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description List the learned rankings, or learn another one from all judgements. Runs in a worker.
         *
         *     Needs the scope `admin`.
         */
        get: operations["memory_rankings_get"];
        put?: never;
        /**
         * @description List the learned rankings, or learn another one from all judgements. Runs in a worker.
         *
         *     Needs the scope `admin`.
         */
        post: operations["memory_rankings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/rankings/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Return a ranking, or change its status: shadow, active, retired.
         *
         *     Needs the scope `admin`.
         */
        get: operations["memory_rankings_id_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * @description Return a ranking, or change its status: shadow, active, retired.
         *
         *     Needs the scope `admin`.
         */
        patch: operations["memory_rankings_id_patch"];
        trace?: never;
    };
    "/v1/memory/rankings/{id}/comparisons": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description List what a ranking changes, question by question.
         *
         *     Needs the scope `admin`.
         */
        get: operations["memory_rankings_id_comparisons_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/recall": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Recall memories for an embedding that the client computed.
         *
         *     Needs the scope `memory:read`.
         */
        post: operations["memory_recall"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/recall_text": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Recall memories for a query, with related memories.
         *
         *     The response contains the seeds, the subgraph of related memories, a ranking, and a text within
         *     a budget.
         *
         *     Needs the scope `memory:read`.
         */
        post: operations["memory_recall_text"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/rules/evaluate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Evaluate the rules for a context. Nothing is recorded.
         *
         *     Needs the scope `rules:read`.
         */
        post: operations["memory_rules_evaluate"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/rules/state": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Change the state of a rule: draft, shadow, active or disabled.
         *
         *     `input_text` is the reason. A rule must be in shadow before it becomes active, and its evidence
         *     must pass the account's gate, unless a key with the scope rules:override sends a reason.
         *     Without this scope, a key can neither activate a rule nor change the state of an active one.
         *
         *     Needs the scope `rules:write`.
         */
        post: operations["memory_rules_state"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Search memories by words and meaning, best first.
         *
         *     Needs the scope `memory:read`.
         */
        post: operations["memory_search"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/store": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Store one memory.
         *
         *     A text that already exists for the same audience is not stored again: the response is the
         *     existing memory, and `decisions` says so. Similar memories are listed in `decisions` too. Send
         *     `dedupe` false to store every text.
         *
         *     Needs the scope `memory:write`.
         */
        post: operations["memory_store"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/store_if_worthwhile": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Let a model decide whether a completed task taught anything worth storing.
         *
         *     Needs the scope `memory:write`.
         */
        post: operations["memory_store_if_worthwhile"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/tools/decision": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Return a decision by its ID or URI, or the latest decision of a run.
         *
         *     Needs the scope `rules:read`.
         */
        post: operations["memory_tools_decision"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/tools/feedback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Submit feedback on the use of a tool. Each decision and outcome counts once.
         *
         *     Needs the scope `rules:write`.
         */
        post: operations["memory_tools_feedback"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/tools/run": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Return the decisions of a run and their feedback.
         *
         *     Needs the scope `rules:read`.
         */
        post: operations["memory_tools_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/tools/select": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Select one of the candidate tools. Records the decision and the effect of shadow rules.
         *
         *     Needs the scope `rules:read`.
         */
        post: operations["memory_tools_select"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/update": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Change a memory. The change of an account-wide memory is a proposal that needs review.
         *
         *     A new title or text unpins the memory: a person confirmed the former one.
         *
         *     Needs the scope `memory:write`.
         */
        post: operations["memory_update"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/verify": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Verify the chain of the account: numbers, parents, hashes and the last checkpoint.
         *
         *     A request checks at most 50,000 commits and about 64 MB of stored changes: of a longer chain
         *     the newest, or the first after its last checkpoint if not all of those fit.
         *     `after` is the number of the last commit before the checked ones, `commits` that of the last
         *     checked one, and `rest` the number of commits after it. `manage.py fsck` checks all commits.
         *
         *     Needs the scope `memory:read`.
         */
        get: operations["memory_verify_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/memory/write": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Write a batch of memories and edges in one commit; all of it, or nothing.
         *
         *     Repeating a `client_id` with the same body returns the existing IDs and commit; with another
         *     body it is a 409. Nodes of type `rule` become draft rules, which also needs the scope
         *     rules:write. IDs and visibility of the batch are the defaults of nodes without their own, and of
         *     rules without an audience.
         *
         *     Needs the scope `memory:write`.
         */
        post: operations["memory_write"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/rules": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description List the rules of the account, newest first, or create a rule as a draft.
         *
         *     Needs the scope `rules:read`.
         */
        get: operations["rules_get"];
        put?: never;
        /**
         * @description List the rules of the account, newest first, or create a rule as a draft.
         *
         *     Needs the scope `rules:write`.
         */
        post: operations["rules"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/rules/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Return, change or disable a rule.
         *
         *     Changing a rule that was in shadow or active creates a new edition as a draft (201).
         *
         *     Needs the scope `rules:read`.
         */
        get: operations["rules_id_get"];
        put?: never;
        post?: never;
        /**
         * @description Disable the rule. It remains in the history.
         *
         *     Needs the scope `rules:write`.
         */
        delete: operations["rules_id_delete"];
        options?: never;
        head?: never;
        /**
         * @description Return, change or disable a rule.
         *
         *     Changing a rule that was in shadow or active creates a new edition as a draft (201).
         *
         *     Needs the scope `rules:write`.
         */
        patch: operations["rules_id_patch"];
        trace?: never;
    };
    "/v1/rules/{id}/backtest": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Test a rule on the most recent decisions, or return the progress of its last test.
         *
         *     Needs the scope `rules:read`.
         */
        get: operations["rules_id_backtest_get"];
        put?: never;
        /**
         * @description Test a rule on the most recent decisions, or return the progress of its last test.
         *
         *     Needs the scope `rules:write`.
         */
        post: operations["rules_id_backtest"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/rules/{id}/evidence": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Return the evidence that a rule collected in shadow, and the result of the gate.
         *
         *     Needs the scope `rules:read`.
         */
        get: operations["rules_id_evidence_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/rules/{id}/feedback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Submit feedback on a rule.
         *
         *     With `run_id` or `input_text`, repeated feedback counts once per key, outcome and run or text.
         *     Without them, each request counts.
         *
         *     Needs the scope `rules:write`.
         */
        post: operations["rules_id_feedback"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/rules/{id}/rollback": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Revert a promotion: the rule returns to shadow, and the rule it replaced is active again.
         *
         *     Needs the scope `rules:write`.
         */
        post: operations["rules_id_rollback"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/rules/gate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Return or change the evidence that a rule needs to become active. Changes are recorded.
         *
         *     Needs the scope `rules:read`.
         */
        get: operations["rules_gate_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        /**
         * @description Return or change the evidence that a rule needs to become active. Changes are recorded.
         *
         *     Needs the scope `rules:override`.
         */
        patch: operations["rules_gate_patch"];
        trace?: never;
    };
    "/v1/rules/schemas": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Return the JSON Schemas that rules must match.
         *
         *     Needs the scope `rules:read`.
         */
        get: operations["rules_schemas_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tool-results": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Archive a tool result, or list archived ones.
         *
         *     A short result is returned unchanged. A long one is stored and its placeholder is returned.
         *
         *     Needs the scope `context:read`.
         */
        get: operations["tool_results_get"];
        put?: never;
        /**
         * @description Archive a tool result, or list archived ones.
         *
         *     A short result is returned unchanged. A long one is stored and its placeholder is returned.
         *
         *     Needs the scope `context:write`.
         */
        post: operations["tool_results"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tool-results/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Load a tool result: all of it, a range of characters, or the passages about `query`.
         *
         *     Needs the scope `context:read`.
         */
        get: operations["tool_results_id_get"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tool-results/load": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Run `load_tool_history` with the arguments of the model's call as the body.
         *
         *     Needs the scope `context:read`.
         */
        post: operations["tool_results_load"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/tool-results/search": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * @description Search tool results by words and by meaning, in one conversation or across conversations.
         *
         *     Needs the scope `context:read`.
         */
        post: operations["tool_results_search"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description List the webhooks of the account, or create one.
         *
         *     The answer to a creation holds the signing secret, in the form of the Standard Webhooks
         *     specification. Store it: it cannot be read later, also not by repeating the request with its
         *     Idempotency-Key.
         *
         *     Needs the scope `admin`.
         */
        get: operations["webhooks_get"];
        put?: never;
        /**
         * @description List the webhooks of the account, or create one.
         *
         *     The answer to a creation holds the signing secret, in the form of the Standard Webhooks
         *     specification. Store it: it cannot be read later, also not by repeating the request with its
         *     Idempotency-Key.
         *
         *     Needs the scope `admin`.
         */
        post: operations["webhooks"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/webhooks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * @description Return, change or delete a webhook.
         *
         *     Needs the scope `admin`.
         */
        get: operations["webhooks_id_get"];
        put?: never;
        post?: never;
        /**
         * @description Return, change or delete a webhook.
         *
         *     Needs the scope `admin`.
         */
        delete: operations["webhooks_id_delete"];
        options?: never;
        head?: never;
        /**
         * @description Return, change or delete a webhook.
         *
         *     Needs the scope `admin`.
         */
        patch: operations["webhooks_id_patch"];
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description Decisions of the recorded call and of the replay. */
        ActionsChange: {
            before: string[];
            after: string[];
        };
        /** @description The stored messages, and the event of the extraction. */
        AddAnswer: {
            warnings?: components["schemas"]["FieldWarning"][];
            event_id: string | null;
            status: string;
            state: string;
            reason: string | null;
            results: components["schemas"]["AddedMessage"][];
        };
        /** @description A conversation. */
        AddInput: {
            user_id?: string | null;
            agent_id?: string | null;
            app_id?: string | null;
            run_id?: string | null;
            scope?: string | null;
            metadata?: {
                [key: string]: components["schemas"]["JSON"];
            } | null;
            /** @description Time of the message. Default: now. */
            observed_at?: string | null;
            /** @description A text, a message, or a list of messages. */
            messages: string | (({
                /** @enum {string} */
                role: "system" | "developer" | "user" | "assistant" | "tool" | "function";
                content?: string | ({
                    /** @enum {string} */
                    type?: "text" | "image_url";
                    text?: string;
                    image_url?: string | ({
                        url?: string;
                    } & {
                        [key: string]: components["schemas"]["JSON"];
                    });
                } & {
                    [key: string]: components["schemas"]["JSON"];
                }) | (string | ({
                    /** @enum {string} */
                    type?: "text" | "image_url";
                    text?: string;
                    image_url?: string | ({
                        url?: string;
                    } & {
                        [key: string]: components["schemas"]["JSON"];
                    });
                } & {
                    [key: string]: components["schemas"]["JSON"];
                }))[] | null;
                name?: string;
            } & {
                [key: string]: components["schemas"]["JSON"];
            }) | {
                content: unknown;
            } | {
                tool_calls: unknown;
            }) | (({
                /** @enum {string} */
                role: "system" | "developer" | "user" | "assistant" | "tool" | "function";
                content?: string | ({
                    /** @enum {string} */
                    type?: "text" | "image_url";
                    text?: string;
                    image_url?: string | ({
                        url?: string;
                    } & {
                        [key: string]: components["schemas"]["JSON"];
                    });
                } & {
                    [key: string]: components["schemas"]["JSON"];
                }) | (string | ({
                    /** @enum {string} */
                    type?: "text" | "image_url";
                    text?: string;
                    image_url?: string | ({
                        url?: string;
                    } & {
                        [key: string]: components["schemas"]["JSON"];
                    });
                } & {
                    [key: string]: components["schemas"]["JSON"];
                }))[] | null;
                name?: string;
            } & {
                [key: string]: components["schemas"]["JSON"];
            }) | {
                content: unknown;
            } | {
                tool_calls: unknown;
            })[];
            /**
             * @description false: store every message unchanged, without a model.
             * @default true
             */
            infer?: boolean | null;
            memory_type?: components["schemas"]["MemoryTypeEnum"] | components["schemas"]["BlankEnum"] | components["schemas"]["NullEnum"];
            /** @description For procedural_memory: prompt that replaces the built-in one. */
            prompt?: string | null;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description A message that was stored as a memory. */
        AddedMessage: {
            /** Format: uuid */
            id: string;
            event: string;
            text: string;
            role: string | null;
            status: string;
        };
        /** @description Function definitions for a model, and the endpoint of each (POST). */
        AgentToolsAnswer: {
            tools: {
                [key: string]: unknown;
            }[];
            paths: {
                [key: string]: string;
            };
        };
        /** @description The combined policy, its sources and its conflicts. */
        Applied: {
            policy: {
                [key: string]: unknown;
            };
            sources: components["schemas"]["SourceShown"][];
            conflicts: components["schemas"]["ConflictShown"][];
            conflict_explain: components["schemas"]["ConflictExplained"][];
            tool_explain: components["schemas"]["ToolExplained"];
            shadow_policy?: {
                [key: string]: unknown;
            };
            shadow_sources?: components["schemas"]["SourceShown"][];
            shadow_conflicts?: components["schemas"]["ConflictShown"][];
            shadow_conflict_explain?: components["schemas"]["ConflictExplained"][];
            shadow_tool_explain?: components["schemas"]["ToolExplained"];
        };
        /** @description An archived tool result without its text. */
        Archive: {
            /** Format: uuid */
            uuid: string;
            tool_name: string;
            tool_call_id: string | null;
            conversation_id: string | null;
            thread_id: string | null;
            user_id: string | null;
            agent_id: string | null;
            query_summary: string;
            result_summary: string;
            summary_by: string;
            extractive: string | null;
            result_length: number;
            sources: string[];
            sha256: string;
            /** Format: date-time */
            created_at: string;
            /** Format: uuid */
            commit_id: string;
        };
        /** @description A matching tool result with its best passage. */
        ArchiveHit: {
            /** Format: uuid */
            uuid: string;
            tool_name: string;
            tool_call_id: string | null;
            conversation_id: string | null;
            thread_id: string | null;
            user_id: string | null;
            agent_id: string | null;
            query_summary: string;
            result_summary: string;
            summary_by: string;
            extractive: string | null;
            result_length: number;
            sources: string[];
            sha256: string;
            /** Format: date-time */
            created_at: string;
            /** Format: uuid */
            commit_id: string;
            /** Format: double */
            score: number;
            passage: components["schemas"]["ArchivePassage"];
        };
        /** @description Tool results, newest first; `next` is the `before` of the next page. */
        ArchivePage: {
            warnings?: components["schemas"]["FieldWarning"][];
            results: components["schemas"]["Archive"][];
            next: string | null;
        };
        /** @description A passage of a tool result, with its position in characters. */
        ArchivePassage: {
            start: number;
            end: number;
            text: string;
            /** Format: double */
            score?: number;
        };
        /** @description Tool results, best first. */
        ArchivesFound: {
            warnings?: components["schemas"]["FieldWarning"][];
            results: components["schemas"]["ArchiveHit"][];
            decisions: {
                [key: string]: unknown;
            }[];
        };
        /** @description A call to assemble: the conversation, tools and token limits. */
        AssembleInput: {
            conversation_id?: string | null;
            thread_id?: string | null;
            user_id?: string | null;
            agent_id?: string | null;
            messages: ({
                /** @enum {string} */
                role: "assistant" | "developer" | "system" | "tool" | "user";
            } & {
                [key: string]: components["schemas"]["JSON"];
            })[];
            app_id?: string | null;
            scope?: string | null;
            model?: string | null;
            /** @description The system prompt, if it is not among the messages. */
            system?: string | null;
            sections?: components["schemas"]["SectionInput"][] | null;
            tools?: {
                [key: string]: components["schemas"]["JSON"];
            }[] | null;
            /** @description The group of each tool. */
            tool_groups?: {
                [key: string]: "memory" | "fs" | "devtools" | "web" | "other";
            } | null;
            required_tools?: string[] | null;
            /** @default full */
            tool_profile?: components["schemas"]["ToolProfileEnum"] | components["schemas"]["NullEnum"];
            /**
             * @description By default the format of the messages.
             *
             *     * `openai` - openai
             *     * `anthropic` - anthropic
             */
            provider?: components["schemas"]["ProviderEnum"] | components["schemas"]["NullEnum"];
            /** @default 128000 */
            context_window_tokens?: number | null;
            /** @default 4096 */
            reserved_output_tokens?: number | null;
            /** @description The retrieval query; by default the last user message, of which both ends are used if it is longer. */
            query?: string | null;
            /**
             * @default [
             *       "rules",
             *       "lore",
             *       "memory",
             *       "knowledge"
             *     ]
             */
            sources?: ("rules" | "lore" | "memory" | "knowledge")[] | null;
            /** @default 10 */
            limit?: number | null;
            knowledge_sources?: string[] | null;
            lorebooks?: string[] | null;
            rules_context?: {
                [key: string]: components["schemas"]["JSON"];
            } | null;
            /** @description Overrides for any of protected_turns, least_turns, prune, head, tail, unprunable_tools, compact, summary_tokens, snippet_tokens, most_snippet_tokens, most_snippets, min_score, strict_tools, short_ids, retrieval_ms. */
            policy?: {
                [key: string]: components["schemas"]["JSON"];
            } | null;
            language?: components["schemas"]["LanguageEnum"] | components["schemas"]["NullEnum"];
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description A call to send. For Anthropic, `system` is a parameter of its own. */
        AssembledCall: {
            warnings?: components["schemas"]["FieldWarning"][];
            withheld?: number;
            /** Format: uuid */
            report_id: string;
            provider: string;
            system: string;
            sections: components["schemas"]["AssembledSection"][];
            messages: {
                [key: string]: unknown;
            }[];
            tools: {
                [key: string]: unknown;
            }[];
            context_cost: components["schemas"]["ContextCost"];
        };
        /** @description A section of the prompt. */
        AssembledSection: {
            name: string;
            text: string;
            tokens: number;
            stable: boolean;
        };
        /**
         * @description * `account` - everyone
         *     * `app` - specific app
         *     * `agent` - specific agent
         *     * `user` - specific user
         * @enum {string}
         */
        AudienceEnum: "account" | "app" | "agent" | "user";
        /** @description Pending embeddings; /v1/events/{id} reports the progress of each. */
        Backfill: {
            enqueued: boolean;
            pending_nodes: number;
            event_ids: string[];
        };
        /** @description The number of recent decisions to test a rule on. */
        BacktestInput: {
            /** @default 1000 */
            decisions?: number;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description A test of a rule on past decisions; `status` is pending, running, succeeded or failed. */
        BacktestShown: {
            warnings?: components["schemas"]["FieldWarning"][];
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            rule_node_id: string;
            status: string;
            total: number;
            done: number;
            seen: number;
            matched: number;
            changed: number;
            examples: {
                [key: string]: unknown;
            }[];
            /** Format: date-time */
            created_at: string;
            finished_at: string | null;
        };
        /** @enum {unknown} */
        BlankEnum: "";
        /** @description Differences under another policy: tokens by section, lost and gained content. */
        CallDifference: {
            /** Format: uuid */
            report_id: string;
            fits_before: boolean;
            fits_after: boolean;
            tokens: {
                [key: string]: components["schemas"]["Change"];
            };
            dropped: components["schemas"]["Change"];
            actions: components["schemas"]["ActionsChange"];
            evidence_lost: string[];
            evidence_gained: string[];
            tools_lost: string[];
            tools_gained: string[];
            messages_lost: number[];
            messages_gained: number[];
        };
        /** @description `policy` holds the changes to the default; `effective_policy` is the result. */
        CallSettings: {
            warnings?: components["schemas"]["FieldWarning"][];
            inputs_days: number;
            policy: {
                [key: string]: unknown;
            };
            effective_policy: {
                [key: string]: unknown;
            };
            prices: {
                [key: string]: {
                    [key: string]: number;
                };
            };
            variants: {
                [key: string]: number;
            };
            remote_url: string;
            remote_sources: string[];
            remote_key_set: boolean;
            version: number;
        };
        /** @description Tokens of a section in the recorded call and in the replay. */
        Change: {
            before: number;
            after: number;
        };
        /** @description A statement with its signature (Ed25519 over canonical JSON) and the ID of the key. */
        CheckpointShown: {
            key: string;
            signature: string;
            statement: components["schemas"]["StatementShown"];
        };
        /** @description Checkpoints. */
        CheckpointsAnswer: {
            warnings?: components["schemas"]["FieldWarning"][];
            checkpoints: components["schemas"]["CheckpointShown"][];
        };
        /** @description Checkpoints as they are in the file: one object per line. */
        CheckpointsInput: {
            checkpoints: {
                [key: string]: components["schemas"]["JSON"];
            }[];
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description Numbers of unchanged, new and deleted chunks. Only new chunks are embedded. */
        ChunkCount: {
            kept: number;
            made: number;
            retired: number;
        };
        /** @description The origin of a memory. */
        Citation: {
            variant: string;
            index_version: string;
            algo_version: string;
            /** Format: uuid */
            node_id: string;
            uri: string;
            /** Format: uuid */
            commit_id: string;
            commit_uri: string;
            raw_ref: string | null;
            evidence_ref: string | null;
            sources: unknown[];
        };
        /** @description A citation from a search result. Only `ref` and `locator` are used. */
        CitationInput: {
            /** Format: uuid */
            ref: string;
            locator: components["schemas"]["LocatorInput"];
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description The account and the scope of a citation. */
        CitationScope: {
            /** Format: uuid */
            account_id: string;
            scope: string | null;
        };
        /** @description A memory, also by the URI of a citation, and the time at which to read it. */
        Cited: ({
            user_id?: string | null;
            agent_id?: string | null;
            app_id?: string | null;
            run_id?: string | null;
            scope?: string | null;
            id?: string | null;
            client_id?: string | null;
            citation?: string | null;
            /** @description Return the state at this time. */
            as_of?: string | null;
        } & {
            [key: string]: components["schemas"]["JSON"];
        }) | {
            id: string | unknown[] | Record<string, never>;
        } | {
            client_id: string | unknown[] | Record<string, never>;
        } | {
            citation: string | unknown[] | Record<string, never>;
        };
        /** @description Rules in conflict with this rule over one path, in decisions that it matched. */
        ClashShown: {
            path: string;
            /** Format: uuid */
            winner_rule_node_id: string;
            code: string;
            loser_rule_node_ids: string[];
            times: number;
            /** Format: uuid */
            latest_decision_id: string;
        };
        /** @description Commits of the account, oldest first; `next` is the `after` of the next page. */
        CommitsAnswer: {
            warnings?: components["schemas"]["FieldWarning"][];
            commits: components["schemas"]["LedgerCommit"][];
            next: number | null;
        };
        /** @description One comparison with its totals. */
        Comparison: {
            warnings?: components["schemas"]["FieldWarning"][];
            /** Format: uuid */
            id: string;
            status: string;
            left: {
                [key: string]: unknown;
            };
            right: {
                [key: string]: unknown;
            };
            agent_id: string | null;
            model: string | null;
            total: number;
            done: number;
            gone: number;
            /** Format: date-time */
            created_at: string;
            finished_at: string | null;
            summary: components["schemas"]["ComparisonSummary"];
        };
        /** @description The first ten results of a question without the ranking and with it. */
        ComparisonAnswer: {
            question: string;
            before: string[];
            after: string[];
            relevant: string[];
            changed: number;
        };
        /** @description One comparison with its progress; `gone` counts calls whose inputs have expired. */
        ComparisonBrief: {
            warnings?: components["schemas"]["FieldWarning"][];
            /** Format: uuid */
            id: string;
            status: string;
            left: {
                [key: string]: unknown;
            };
            right: {
                [key: string]: unknown;
            };
            agent_id: string | null;
            model: string | null;
            total: number;
            done: number;
            gone: number;
            /** Format: date-time */
            created_at: string;
            finished_at: string | null;
        };
        /** @description The calls to compare and the changes of each side. Empty changes replay the recorded call. */
        ComparisonInput: {
            left?: components["schemas"]["ReplayInput"];
            right: components["schemas"]["ReplayInput"];
            /** @default 1000 */
            calls?: number;
            agent_id?: string | null;
            model?: string;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description Comparisons, newest first; `next` is an offset. */
        ComparisonPage: {
            warnings?: components["schemas"]["FieldWarning"][];
            results: components["schemas"]["ComparisonBrief"][];
            next: number | null;
        };
        /** @description Current totals. Costs include the calls that fit on both sides and have a price. */
        ComparisonSummary: {
            distribution: components["schemas"]["Spread"];
            changed: number;
            losing_evidence: number;
            evidence_lost: number;
            no_longer_fitting: number;
            newly_fitting: number;
            larger: number;
            dropped_before: number;
            dropped_after: number;
            cost_before: number | null;
            cost_after: number | null;
        };
        /** @description Comparisons, the largest change first; `next` is an offset. */
        ComparisonsAnswer: {
            warnings?: components["schemas"]["FieldWarning"][];
            results: components["schemas"]["ComparisonAnswer"][];
            next: number | null;
        };
        /** @description The winning and the losing rules of a conflict, with the reason. */
        ConflictExplained: {
            path: string;
            /** Format: uuid */
            winner: string;
            losers: string[];
            reason: string;
        };
        /** @description A path that rules set to different values. */
        ConflictShown: {
            path: string;
            /** Format: uuid */
            winner_rule_node_id: string;
        };
        /**
         * @description The report of a call. Every decision has `action`, and tokens before and after it.
         *
         *     `variant_by` is the origin of the variant: `asked` by header, `assigned` by the conversation, or
         *     the `default`.
         */
        ContextCost: {
            context_window_tokens: number;
            reserved_output_tokens: number;
            estimated_tokens: components["schemas"]["EstimatedTokens"];
            prefix_tokens: number;
            tail_tokens: number;
            prefix_sha256: string;
            decisions: {
                [key: string]: unknown;
            }[];
            items: {
                [key: string]: unknown;
            }[];
            citations: {
                [key: string]: unknown;
            }[];
            tool_profile: string;
            variant: string;
            variant_by: string;
            index_version: string;
            algo_version: string;
            model: string | null;
            cache: {
                [key: string]: unknown;
            };
            timings_ms: {
                [key: string]: unknown;
            };
            policy: {
                [key: string]: unknown;
            };
        };
        /** @description Tokens of one day, by name; `other` is the sum of parts that are not listed. */
        CostDay: {
            day: string;
            tokens: {
                [key: string]: number;
            };
            other: number;
            cost: number | null;
        };
        /** @description Totals of one section, agent, tool, model or variant; `cost` is its share by tokens. */
        CostPart: {
            name: string;
            calls: number;
            tokens: number;
            /** Format: double */
            share: number;
            cost: number | null;
        };
        /**
         * @description A possible saving of at most `tokens`; `cost` at today's input prices.
         *
         *     `calls` are the affected calls: they offered the tool, changed the prefix or repeated results;
         *     `among` are the calls that could be affected.
         */
        CostSaving: {
            kind: string;
            name: string | null;
            calls: number;
            among: number;
            tokens: number;
            /** Format: double */
            share: number;
            cost: number | null;
        };
        /** @description `cut`: only the newest calls are counted. `next`: an offset. */
        Costs: {
            warnings?: components["schemas"]["FieldWarning"][];
            by: string;
            days: number;
            calls: number;
            tokens: number;
            cost: number | null;
            cut: boolean;
            parts: components["schemas"]["CostPart"][];
            next: number | null;
            by_day: components["schemas"]["CostDay"][];
            savings: components["schemas"]["CostSaving"][];
        };
        /** @description A decision; `lookup_mode` is decision_id or run_id_latest. */
        DecisionAnswer: {
            /** Format: uuid */
            tenant_id: string;
            scope: string;
            warnings?: components["schemas"]["FieldWarning"][];
            lookup_mode: string;
            decision: components["schemas"]["DecisionShown"];
        };
        /** @description The decision to return, by its ID, its URI or its run. */
        DecisionInput: {
            scope?: string | null;
            decision_id?: string | null;
            decision_uri?: string | null;
            run_id?: string | null;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description A recorded decision without its details. */
        DecisionLink: {
            /** Format: uuid */
            decision_id: string;
            decision_uri: string;
            run_id: string | null;
            selected_tool: string | null;
            policy_sha256: string;
            source_rule_ids: string[];
            /** Format: date-time */
            created_at: string;
        };
        /** @description Details of a decision. */
        DecisionMetadata: {
            policy: {
                [key: string]: unknown;
            };
            denied: components["schemas"]["Denied"][];
            ordered: string[];
            strict: boolean;
            fallback: string | null;
            considered: number;
            conflicts: {
                [key: string]: unknown;
            }[];
            shadow?: components["schemas"]["WatcherShown"][];
        };
        /** @description A recorded decision. Decisions are not part of a commit. */
        DecisionShown: {
            /** Format: uuid */
            decision_id: string;
            decision_uri: string;
            run_id: string | null;
            selected_tool: string | null;
            policy_sha256: string;
            source_rule_ids: string[];
            /** Format: date-time */
            created_at: string;
            decision_kind: string;
            candidates: string[];
            context_sha256: string;
            metadata: components["schemas"]["DecisionMetadata"];
            commit_id: null;
            commit_uri: null;
        };
        /** @description The webhook that was deleted. */
        DeletedAnswer: {
            /** Format: uuid */
            id: string;
            deleted: boolean;
        };
        /** @description One handler of an event. `reason` states why it is pending. */
        DeliveryShown: {
            handler: string;
            state: string;
            attempts: number;
            /** Format: date-time */
            due_at: string;
            done_at: string | null;
            failed_at: string | null;
            last_error: string | null;
            reason: string | null;
        };
        /** @description An excluded candidate; `reason` is deny_list or not_in_allow_list. */
        Denied: {
            name: string;
            reason: string;
        };
        /** @description Calls of a comparison, the largest change first; `next` is an offset. */
        DifferencePage: {
            warnings?: components["schemas"]["FieldWarning"][];
            results: components["schemas"]["CallDifference"][];
            next: number | null;
        };
        /** @description A document and its processing state. */
        DocumentAnswer: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            source_id: string;
            ref: string;
            title: string;
            mime: string;
            url: string | null;
            sha256: string;
            size: number;
            version: number;
            revision: string | null;
            state: string;
            error: string | null;
            /** Format: date-time */
            observed_at: string;
            removed_at: string | null;
            /** Format: date-time */
            updated_at: string;
            /** Format: uuid */
            commit_id: string;
        };
        /** @description A document as text, HTML or base64 bytes, or the URL of a page to fetch. */
        DocumentInput: {
            ref: string;
            text?: string | null;
            html?: string | null;
            content_base64?: string | null;
            /**
             * @description Fetch `url` in a worker. This deployment must allow the site.
             * @default false
             */
            fetch?: boolean | null;
            title?: string | null;
            mime?: string | null;
            url?: string | null;
            revision?: string | null;
            observed_at?: string | null;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description One edge to write. */
        EdgeInput: {
            /** Format: uuid */
            id?: string;
            type: components["schemas"]["TypeEnum"];
            src: components["schemas"]["EndInput"];
            dst: components["schemas"]["EndInput"];
            /** Format: double */
            weight?: number;
            /** Format: double */
            confidence?: number;
            /** Format: double */
            decay_rate?: number;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description One end of an edge. */
        EndInput: ({
            /** Format: uuid */
            id?: string;
            client_id?: string;
        } & {
            [key: string]: components["schemas"]["JSON"];
        }) & (unknown | unknown);
        /**
         * @description Memories to erase, by ID, client ID, user, agent, app or run.
         *
         *     All given fields must match. Without `confirm_token` the memories are only counted.
         */
        EraseInput: {
            user_id?: string | null;
            agent_id?: string | null;
            app_id?: string | null;
            run_id?: string | null;
            scope?: string | null;
            ids?: string[] | string | null;
            client_ids?: string[] | string | null;
            written_before?: string | null;
            /** @description From the count; it is good for ten minutes. */
            confirm_token?: string | null;
            reason?: string | null;
        } | {
            ids: string | unknown[] | Record<string, never>;
        } | {
            client_ids: string | unknown[] | Record<string, never>;
        } | {
            user_id: string | unknown[] | Record<string, never>;
        } | {
            agent_id: string | unknown[] | Record<string, never>;
        } | {
            app_id: string | unknown[] | Record<string, never>;
        } | {
            run_id: string | unknown[] | Record<string, never>;
        };
        /** @description The ID of the erased object and the commit of the erasure. */
        ErasedAnswer: {
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            commit_id: string;
        };
        /** @description The result of an erasure, and the commit that records it. */
        Erasure: {
            warnings?: components["schemas"]["FieldWarning"][];
            erased: components["schemas"]["ErasureErasedEnum"];
            count: number;
            /** Format: uuid */
            commit_id: string;
            commit_hash: string;
            note: string;
        };
        /** @description The number of selected memories; nothing is erased yet. */
        ErasureCount: {
            warnings?: components["schemas"]["FieldWarning"][];
            erased: components["schemas"]["ErasureCountErasedEnum"];
            count: number;
            goes: components["schemas"]["Traces"];
            confirm_token: string;
            expires_in_seconds: number;
        };
        /** @enum {boolean} */
        ErasureCountErasedEnum: false;
        /** @enum {boolean} */
        ErasureErasedEnum: true;
        /** @description The body of every error response. */
        Error: {
            status: number;
            /** @description Stable machine-readable code, for example invalid_request. */
            error: string;
            /** @description A sentence for people. */
            message: string;
            /** @description The same sentence. */
            detail: string;
            /** @description Facts that belong to the code. */
            details: {
                [key: string]: unknown;
            };
            issues: components["schemas"]["Issue"][];
        };
        /** @description Estimated tokens by section, which add up to the total. */
        EstimatedTokens: {
            total: number;
            system: number;
            history: number;
            tools_schema: number;
            tool_results: number;
            injections: number;
            memory_knowledge: number;
        };
        /** @description The result of evaluating the rules for a context. */
        EvaluateAnswer: {
            /** Format: uuid */
            tenant_id: string;
            scope: string;
            warnings?: components["schemas"]["FieldWarning"][];
            withheld?: number;
            considered: number;
            matched: number;
            skipped_invalid_then: number;
            invalid_then_sample: unknown[];
            active: components["schemas"]["MatchedRule"][];
            shadow: components["schemas"]["MatchedRule"][];
            agent_visibility_summary: components["schemas"]["Visibility"];
            applied: components["schemas"]["Applied"];
            evaluation_summary: components["schemas"]["EvaluationSummary"];
        };
        /** @description A context to evaluate the rules for. */
        EvaluateInput: {
            scope?: string | null;
            context: {
                [key: string]: components["schemas"]["JSON"];
            };
            user_id?: string | null;
            agent_id?: string | null;
            app_id?: string | null;
            /** @default true */
            include_shadow?: boolean;
            /**
             * @description Limits the rules in the response; all matching rules apply.
             * @default 50
             */
            limit?: number;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description Counts of an evaluation. */
        EvaluationSummary: {
            considered: number;
            matched_active: number;
            matched_shadow: number;
            conflicts: number;
        };
        /**
         * @description Asynchronous work: PENDING, RUNNING, SUCCEEDED or FAILED, in total and by handler.
         *
         *     `result` is present for work that produces one.
         */
        EventShown: {
            /** Format: uuid */
            id: string;
            topic: string;
            state: string;
            status: string;
            attempts: number;
            last_error: string | null;
            reason: string | null;
            /** Format: date-time */
            created_at: string;
            result: {
                [key: string]: unknown;
            } | null;
            deliveries: components["schemas"]["DeliveryShown"][];
        };
        /**
         * @description * `job.failed` - job.failed
         *     * `budget.exceeded` - budget.exceeded
         *     * `ledger.broken` - ledger.broken
         *     * `proposals.waiting` - proposals.waiting
         *     * `contradiction.found` - contradiction.found
         *     * `promotion.requested` - promotion.requested
         *     * `ledger.mismatch` - ledger.mismatch
         *     * `memory.added` - memory.added
         *     * `memory.updated` - memory.updated
         *     * `memory.deleted` - memory.deleted
         *     * `memory.proposed` - memory.proposed
         * @enum {string}
         */
        EventTypesEnum: "job.failed" | "budget.exceeded" | "ledger.broken" | "proposals.waiting" | "contradiction.found" | "promotion.requested" | "ledger.mismatch" | "memory.added" | "memory.updated" | "memory.deleted" | "memory.proposed";
        /** @description The evidence of a rule in shadow, and the result of the gate. */
        EvidenceAnswer: {
            /** Format: uuid */
            rule_node_id: string;
            state: string;
            since: string | null;
            counts: {
                [key: string]: number;
            };
            matched: components["schemas"]["IntervalShown"];
            changed: components["schemas"]["IntervalShown"];
            against: components["schemas"]["IntervalShown"];
            gate_open: boolean;
            gate_missing: string[];
            turns: components["schemas"]["TurnShown"][];
            conflicts: components["schemas"]["ClashShown"][];
        };
        /** @description The parts of a score, which add up to it. */
        Explanation: {
            /** Format: double */
            score: number;
            parts: {
                [key: string]: number;
            };
        };
        /** @description The fallback if no tool is left; `reason` is none or the list that excluded all tools. */
        Fallback: {
            applied: boolean;
            reason: string;
            note: string | null;
            effective_mode: string;
        };
        /** @description The recorded feedback. Repeated feedback returns the first commit. */
        FeedbackAnswer: {
            /** Format: uuid */
            tenant_id: string;
            scope: string;
            warnings?: components["schemas"]["FieldWarning"][];
            ok: boolean;
            updated_rules: number;
            rule_node_ids: string[];
            /** Format: uuid */
            commit_id: string;
            commit_uri: string;
            commit_hash: string;
            decision_id: string | null;
            decision_uri: string | null;
            decision_link_mode: string | null;
            decision_policy_sha256: string | null;
        };
        /** @description A rating of a memory. */
        FeedbackInput: ({
            user_id?: string | null;
            agent_id?: string | null;
            app_id?: string | null;
            run_id?: string | null;
            scope?: string | null;
            id?: string | null;
            client_id?: string | null;
            outcome: components["schemas"]["FeedbackInputOutcomeEnum"];
            reason?: string | null;
            /** @description The question that it was recalled for. Learned rankings use it. */
            query?: string | null;
            /** @description The run it was used in: each run counts once. */
            used_in?: string | null;
        } & {
            [key: string]: components["schemas"]["JSON"];
        }) | {
            id: string | unknown[] | Record<string, never>;
        } | {
            client_id: string | unknown[] | Record<string, never>;
        };
        /**
         * @description * `positive` - useful
         *     * `neutral` - neutral
         *     * `negative` - outdated
         *     * `very_negative` - wrong
         * @enum {string}
         */
        FeedbackInputOutcomeEnum: "positive" | "neutral" | "negative" | "very_negative";
        /** @description One feedback; `rule_node_id` is the first of the rules that it counts for. */
        FeedbackShown: {
            /** Format: uuid */
            id: string;
            rule_node_id: string | null;
            rule_node_ids: string[];
            outcome: string;
            note: string | null;
            source: string;
            decision_id: string | null;
            /** Format: uuid */
            commit_id: string;
            /** Format: date-time */
            created_at: string;
        };
        /** @description A field of the request that was ignored, and the nearest known name if it is unknown. */
        FieldWarning: {
            code: string;
            path: string;
            nearest: string | null;
            message: string;
        };
        Filters: {
            user_id?: string | "*" | null | string[] | {
                contains?: string;
                eq?: string | "*" | null;
                icontains?: string;
                in?: string[];
                ne?: string | "*" | null;
            };
            agent_id?: string | "*" | null | string[] | {
                contains?: string;
                eq?: string | "*" | null;
                icontains?: string;
                in?: string[];
                ne?: string | "*" | null;
            };
            app_id?: string | "*" | null | string[] | {
                contains?: string;
                eq?: string | "*" | null;
                icontains?: string;
                in?: string[];
                ne?: string | "*" | null;
            };
            run_id?: string | "*" | null | string[] | {
                contains?: string;
                eq?: string | "*" | null;
                icontains?: string;
                in?: string[];
                ne?: string | "*" | null;
            };
            scope?: string | "*" | null | string[] | {
                contains?: string;
                eq?: string | "*" | null;
                icontains?: string;
                in?: string[];
                ne?: string | "*" | null;
            };
            kind?: string | "*" | null | string[] | {
                contains?: string;
                eq?: string | "*" | null;
                icontains?: string;
                in?: string[];
                ne?: string | "*" | null;
            };
            visibility?: string | "*" | null | string[] | {
                contains?: string;
                eq?: string | "*" | null;
                icontains?: string;
                in?: string[];
                ne?: string | "*" | null;
            };
            tier?: string | "*" | null | string[] | {
                contains?: string;
                eq?: string | "*" | null;
                icontains?: string;
                in?: string[];
                ne?: string | "*" | null;
            };
            title?: string | "*" | null | string[] | {
                contains?: string;
                eq?: string | "*" | null;
                icontains?: string;
                in?: string[];
                ne?: string | "*" | null;
            };
            client_id?: string | "*" | null | string[] | {
                contains?: string;
                eq?: string | "*" | null;
                icontains?: string;
                in?: string[];
                ne?: string | "*" | null;
            };
            created_at?: string | "*" | null | string[] | {
                eq?: string | "*" | null;
                /** @description A date or a time. */
                gt?: string;
                /** @description A date or a time. */
                gte?: string;
                in?: string[];
                /** @description A date or a time. */
                lt?: string;
                /** @description A date or a time. */
                lte?: string;
                ne?: string | "*" | null;
            };
            updated_at?: string | "*" | null | string[] | {
                eq?: string | "*" | null;
                /** @description A date or a time. */
                gt?: string;
                /** @description A date or a time. */
                gte?: string;
                in?: string[];
                /** @description A date or a time. */
                lt?: string;
                /** @description A date or a time. */
                lte?: string;
                ne?: string | "*" | null;
            };
            observed_at?: string | "*" | null | string[] | {
                eq?: string | "*" | null;
                /** @description A date or a time. */
                gt?: string;
                /** @description A date or a time. */
                gte?: string;
                in?: string[];
                /** @description A date or a time. */
                lt?: string;
                /** @description A date or a time. */
                lte?: string;
                ne?: string | "*" | null;
            };
            expires_at?: string | "*" | null | string[] | {
                eq?: string | "*" | null;
                /** @description A date or a time. */
                gt?: string;
                /** @description A date or a time. */
                gte?: string;
                in?: string[];
                /** @description A date or a time. */
                lt?: string;
                /** @description A date or a time. */
                lte?: string;
                ne?: string | "*" | null;
            };
            valid_from?: string | "*" | null | string[] | {
                eq?: string | "*" | null;
                /** @description A date or a time. */
                gt?: string;
                /** @description A date or a time. */
                gte?: string;
                in?: string[];
                /** @description A date or a time. */
                lt?: string;
                /** @description A date or a time. */
                lte?: string;
                ne?: string | "*" | null;
            };
            valid_to?: string | "*" | null | string[] | {
                eq?: string | "*" | null;
                /** @description A date or a time. */
                gt?: string;
                /** @description A date or a time. */
                gte?: string;
                in?: string[];
                /** @description A date or a time. */
                lt?: string;
                /** @description A date or a time. */
                lte?: string;
                ne?: string | "*" | null;
            };
            importance?: number | "*" | null | number[] | {
                eq?: number | "*" | null;
                gt?: number;
                gte?: number;
                in?: number[];
                lt?: number;
                lte?: number;
                ne?: number | "*" | null;
            };
            confidence?: number | "*" | null | number[] | {
                eq?: number | "*" | null;
                gt?: number;
                gte?: number;
                in?: number[];
                lt?: number;
                lte?: number;
                ne?: number | "*" | null;
            };
            salience?: number | "*" | null | number[] | {
                eq?: number | "*" | null;
                gt?: number;
                gte?: number;
                in?: number[];
                lt?: number;
                lte?: number;
                ne?: number | "*" | null;
            };
            tags?: string | "*" | null | string[] | {
                contains?: string;
                eq?: string | "*" | null;
                in?: string[];
                ne?: string | "*" | null;
            };
            entities?: string | "*" | null | string[] | {
                contains?: string;
                eq?: string | "*" | null;
                in?: string[];
                ne?: string | "*" | null;
            };
            pinned?: boolean | "*" | null | {
                eq?: boolean | "*" | null;
                ne?: boolean | "*" | null;
            };
            id?: string | "*" | null | string[] | {
                eq?: string | "*" | null;
                in?: string[];
                ne?: string | "*" | null;
            };
            memory_ids?: string | "*" | null | string[] | {
                eq?: string | "*" | null;
                in?: string[];
                ne?: string | "*" | null;
            };
            type?: string | "*" | null | string[] | {
                contains?: string;
                eq?: string | "*" | null;
                icontains?: string;
                in?: string[];
                ne?: string | "*" | null;
            };
            session_id?: string | "*" | null | string[] | {
                contains?: string;
                eq?: string | "*" | null;
                icontains?: string;
                in?: string[];
                ne?: string | "*" | null;
            };
            conversation_id?: string | "*" | null | string[] | {
                contains?: string;
                eq?: string | "*" | null;
                icontains?: string;
                in?: string[];
                ne?: string | "*" | null;
            };
            text?: string | "*" | null | string[] | {
                contains?: string;
                eq?: string | "*" | null;
                icontains?: string;
                in?: string[];
                ne?: string | "*" | null;
            };
            keywords?: string | "*" | null | string[] | {
                contains?: string;
                eq?: string | "*" | null;
                icontains?: string;
                in?: string[];
                ne?: string | "*" | null;
            };
            keywords_search?: string | "*" | null | string[] | {
                contains?: string;
                eq?: string | "*" | null;
                icontains?: string;
                in?: string[];
                ne?: string | "*" | null;
            };
            categories?: string | "*" | null | string[] | {
                contains?: string;
                eq?: string | "*" | null;
                in?: string[];
                ne?: string | "*" | null;
            };
            timestamp?: string | "*" | null | string[] | {
                eq?: string | "*" | null;
                /** @description A date or a time. */
                gt?: string;
                /** @description A date or a time. */
                gte?: string;
                in?: string[];
                /** @description A date or a time. */
                lt?: string;
                /** @description A date or a time. */
                lte?: string;
                ne?: string | "*" | null;
            };
            expiration_date?: string | "*" | null | string[] | {
                eq?: string | "*" | null;
                /** @description A date or a time. */
                gt?: string;
                /** @description A date or a time. */
                gte?: string;
                in?: string[];
                /** @description A date or a time. */
                lt?: string;
                /** @description A date or a time. */
                lte?: string;
                ne?: string | "*" | null;
            };
            /** @description Conditions on the metadata, by key. */
            metadata?: Record<string, never>;
            AND?: components["schemas"]["Filters"][];
            OR?: components["schemas"]["Filters"][];
            NOT?: components["schemas"]["Filters"][] | components["schemas"]["Filters"];
        };
        /**
         * @description One memory by its ID or client ID, or all memories that match owner and filters.
         *
         *     All given fields must match. Several memories are only counted until the request is repeated
         *     with its `confirm_token`. A request with nothing but a user, an agent, an app or a run selects
         *     all of their memories.
         */
        ForgetInput: {
            user_id?: string | null;
            agent_id?: string | null;
            app_id?: string | null;
            run_id?: string | null;
            scope?: string | null;
            kinds?: ("fact" | "preference" | "skill" | "pattern" | "context" | "project_state" | "summary" | "bookmark" | "procedure" | "event" | "entity" | "topic" | "concept" | "evidence" | "self_model")[] | ("fact" | "preference" | "skill" | "pattern" | "context" | "project_state" | "summary" | "bookmark" | "procedure" | "event" | "entity" | "topic" | "concept" | "evidence" | "self_model") | null;
            tags?: string[] | string | null;
            observed_after?: string | null;
            observed_before?: string | null;
            /** @description Conditions on fields, with AND, OR and NOT. If user_id, agent_id, app_id and run_id are all omitted, equality conditions on them, at the top level or in a top-level AND, select the owner. */
            filters?: components["schemas"]["Filters"] | null;
            id?: string | null;
            client_id?: string | null;
            /** @description From the count; it is good for ten minutes. */
            confirm_token?: string | null;
            reason?: string | null;
        } | {
            id: string | unknown[] | Record<string, never>;
        } | {
            client_id: string | unknown[] | Record<string, never>;
        } | {
            user_id: string | unknown[] | Record<string, never>;
        } | {
            agent_id: string | unknown[] | Record<string, never>;
        } | {
            app_id: string | unknown[] | Record<string, never>;
        } | {
            run_id: string | unknown[] | Record<string, never>;
        } | {
            kinds: string | unknown[] | Record<string, never>;
        } | {
            tags: string | unknown[] | Record<string, never>;
        } | {
            filters: string | unknown[] | Record<string, never>;
        } | {
            observed_before: string | unknown[] | Record<string, never>;
        } | {
            observed_after: string | unknown[] | Record<string, never>;
        };
        /** @description The result of forgetting; complete when all events have succeeded. */
        Forgetting: {
            warnings?: components["schemas"]["FieldWarning"][];
            forgotten: boolean;
            count: number;
            status: string;
            state: string;
            event_ids: string[];
        };
        /** @description The number of selected memories; nothing is forgotten yet. */
        ForgettingCount: {
            warnings?: components["schemas"]["FieldWarning"][];
            forgotten: boolean;
            count: number;
            needs_review: number;
            confirm_token: string | null;
            expires_in_seconds: number;
        };
        /** @description The settings to change. With `decision_days` null, decisions are stored permanently. */
        GateChange: {
            min_seen?: number;
            min_changed?: number;
            /** Format: double */
            max_against?: number;
            second_person?: boolean;
            decision_days?: number | null;
            reason: string;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description The evidence that a rule needs to become active, and the retention of decisions. */
        GateShown: {
            warnings?: components["schemas"]["FieldWarning"][];
            min_seen: number;
            min_changed: number;
            /** Format: double */
            max_against: number;
            second_person: boolean;
            decision_days: number | null;
        };
        /** @description The text to read: the span of a citation or of its URI, or a chunk by its ID. */
        GetInput: ({
            citation?: components["schemas"]["CitationInput"];
            uri?: string | null;
            id?: string | null;
        } & {
            [key: string]: components["schemas"]["JSON"];
        }) & ({
            citation: string | unknown[] | Record<string, never>;
        } | {
            uri: string | unknown[] | Record<string, never>;
        } | {
            id: string | unknown[] | Record<string, never>;
        });
        /** @description A commit of a chain. */
        HeadShown: {
            seq: number;
            commit_hash: string;
        };
        /** @description Versions of a memory, oldest first; `next` is the `after` of the next page. */
        HistoryAnswer: {
            warnings?: components["schemas"]["FieldWarning"][];
            /** Format: uuid */
            id: string;
            versions: components["schemas"]["Version"][];
            next: number | null;
        };
        /** @description A search result. Memories of the states COLD and NONE have no embedding. */
        Hit: {
            /** Format: uuid */
            id: string;
            text: string;
            /** Format: double */
            score: number;
            /** Format: double */
            relevance: number;
            kind: string;
            title: string;
            tags: string[];
            metadata: {
                [key: string]: unknown;
            };
            user_id: string | null;
            agent_id: string | null;
            app_id: string | null;
            run_id: string | null;
            client_id: string | null;
            /** Format: date-time */
            observed_at: string;
            expires_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            pinned: boolean;
            embedding_status: string;
            citations: components["schemas"]["Citation"][];
            explain?: components["schemas"]["Explanation"];
        };
        /** @description The result of an ingestion. `commit_id` is null if nothing changed. */
        IngestAnswer: {
            warnings?: components["schemas"]["FieldWarning"][];
            source: components["schemas"]["SourceAnswer"];
            documents: components["schemas"]["DocumentAnswer"][];
            added: string[];
            changed: string[];
            unchanged: string[];
            removed: string[];
            chunks: components["schemas"]["ChunkCount"];
            event_ids: string[];
            commit_id: string | null;
        };
        /** @description Documents to add or update in a source, and the refs of documents to remove. */
        IngestInput: {
            source: components["schemas"]["SourceInput"] | string;
            documents?: components["schemas"]["DocumentInput"][];
            /** @description Refs of documents to remove, except those that this request delivers. */
            remove?: string[];
            /**
             * @description Also remove all documents that are not in this request.
             * @default false
             */
            complete?: boolean;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description A prompt block, and the memories in it. */
        InjectAnswer: {
            variant: string;
            index_version: string;
            algo_version: string;
            warnings?: components["schemas"]["FieldWarning"][];
            withheld?: number;
            text: string;
            memories: components["schemas"]["Hit"][];
            query: string;
            /** Format: double */
            threshold: number;
            has_relevant: boolean;
            /** Format: double */
            confidence: number;
            tokens: number;
            decisions: {
                [key: string]: unknown;
            }[];
        };
        /** @description A query, and the limits of the prompt block. */
        InjectInput: {
            user_id?: string | null;
            agent_id?: string | null;
            app_id?: string | null;
            run_id?: string | null;
            scope?: string | null;
            kinds?: ("fact" | "preference" | "skill" | "pattern" | "context" | "project_state" | "summary" | "bookmark" | "procedure" | "event" | "entity" | "topic" | "concept" | "evidence" | "self_model")[] | ("fact" | "preference" | "skill" | "pattern" | "context" | "project_state" | "summary" | "bookmark" | "procedure" | "event" | "entity" | "topic" | "concept" | "evidence" | "self_model") | null;
            tags?: string[] | string | null;
            observed_after?: string | null;
            observed_before?: string | null;
            /** @description Conditions on fields, with AND, OR and NOT. If user_id, agent_id, app_id and run_id are all omitted, equality conditions on them, at the top level or in a top-level AND, select the owner. */
            filters?: components["schemas"]["Filters"] | null;
            /** @description Search the state at this time. */
            as_of?: string | null;
            /**
             * @description The parts that add up to each score.
             * @default false
             */
            explain?: boolean | null;
            query: string;
            /** @description Default: the account's policy. */
            max_memories?: number | null;
            token_budget?: number | null;
            min_score?: number | null;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description A share and its 95 % interval. */
        IntervalShown: {
            /** Format: double */
            share: number;
            /** Format: double */
            low: number;
            /** Format: double */
            high: number;
        };
        /** @description A problem of a request field. */
        Issue: {
            /** @description Path of the field, for example nodes.1.kind. */
            path: string;
            message: string;
        };
        /** @description Any JSON that can be stored: texts without U+0000, numbers within ±(2^53 - 1). */
        JSON: unknown;
        /** @description The number of judgements that were new or different. */
        JudgedAnswer: {
            warnings?: components["schemas"]["FieldWarning"][];
            changed: number;
        };
        /** @description Whether a memory is relevant to a question of this owner; null withdraws the judgement. */
        JudgementInput: {
            user_id?: string | null;
            agent_id?: string | null;
            app_id?: string | null;
            run_id?: string | null;
            scope?: string | null;
            question: string;
            /** Format: uuid */
            memory_id: string;
            relevant: boolean | null;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description Judgements, newest first; `next` is an offset. */
        JudgementsAnswer: {
            warnings?: components["schemas"]["FieldWarning"][];
            results: components["schemas"]["StoredJudgement"][];
            next: number | null;
        };
        /** @description Judgements. Another one of the same memory and question replaces the first. */
        JudgementsInput: {
            judgements: components["schemas"]["JudgementInput"][];
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description A result that a placeholder replaces. */
        Kept: {
            /** Format: uuid */
            uuid: string;
            tool_name: string;
            fresh: boolean;
        };
        /**
         * @description * `fact` - fact
         *     * `preference` - preference
         *     * `skill` - skill
         *     * `pattern` - pattern
         *     * `context` - context
         *     * `project_state` - project state
         *     * `summary` - summary
         *     * `bookmark` - bookmark
         *     * `procedure` - procedure
         *     * `event` - event
         *     * `entity` - entity
         *     * `topic` - topic
         *     * `concept` - concept
         *     * `evidence` - evidence
         *     * `self_model` - self model
         * @enum {string}
         */
        Kind: "fact" | "preference" | "skill" | "pattern" | "context" | "project_state" | "summary" | "bookmark" | "procedure" | "event" | "entity" | "topic" | "concept" | "evidence" | "self_model";
        /** @description A reference to a text. POST it to /v1/knowledge/get to read exactly that text. */
        KnowledgeCitation: {
            kind: string;
            /** Format: uuid */
            ref: string;
            title: string;
            uri: string;
            locator: components["schemas"]["Locator"];
            scope: components["schemas"]["CitationScope"];
            /** Format: date-time */
            observed_at: string;
            trust: string;
            variant: string;
            index_version: string;
            algo_version: string;
        };
        /** @description Passages, best first, with the index and algorithm versions and the search decisions. */
        KnowledgeSearchAnswer: {
            warnings?: components["schemas"]["FieldWarning"][];
            withheld?: number;
            results: components["schemas"]["SnippetAnswer"][];
            variant: string;
            index_version: string;
            algo_version: string;
            decisions: {
                [key: string]: unknown;
            }[];
        };
        /** @description A search of the documents. */
        KnowledgeSearchInput: {
            query: string;
            /** @default 10 */
            limit?: number | null;
            /** @description Names or IDs. */
            sources?: string[] | string | null;
            kinds?: ("repo_docs" | "file_set" | "upload" | "web_snapshot" | "lorebook")[] | ("repo_docs" | "file_set" | "upload" | "web_snapshot" | "lorebook") | null;
            trust?: ("trusted" | "semi_trusted" | "untrusted")[] | ("trusted" | "semi_trusted" | "untrusted") | null;
            mime?: string[] | string | null;
            scope?: string | null;
            /** @description The revision of the documents at their last delivery. */
            version?: string | null;
            /** @default 0 */
            min_score?: number | null;
            /**
             * @description Merge adjacent chunks into one passage.
             * @default true
             */
            merge?: boolean | null;
            /** @default false */
            explain?: boolean | null;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /**
         * @description * `en` - English
         *     * `zh` - Chinese
         * @enum {string}
         */
        LanguageEnum: "en" | "zh";
        /** @description A commit of the ledger. */
        LedgerCommit: {
            /** Format: uuid */
            id: string;
            seq: number;
            parent_hash: string;
            commit_hash: string;
            actor: string;
            /** Format: date-time */
            created_at: string;
            input_digest: string;
            diff: {
                [key: string]: string | null;
            }[];
        };
        /** @description The progress of a run; `status` is decision_recorded or feedback_linked. */
        Lifecycle: {
            status: string;
            decision_count: number;
            latest_decision_at: string | null;
            latest_feedback_at: string | null;
        };
        /** @description A page of memories; the cursor of the next page, or null. */
        ListAnswer: {
            warnings?: components["schemas"]["FieldWarning"][];
            withheld?: number;
            results: components["schemas"]["Memory"][];
            next_cursor: string | null;
        };
        /** @description Filters and page of a list. */
        ListInput: {
            user_id?: string | null;
            agent_id?: string | null;
            app_id?: string | null;
            run_id?: string | null;
            scope?: string | null;
            kinds?: ("fact" | "preference" | "skill" | "pattern" | "context" | "project_state" | "summary" | "bookmark" | "procedure" | "event" | "entity" | "topic" | "concept" | "evidence" | "self_model")[] | ("fact" | "preference" | "skill" | "pattern" | "context" | "project_state" | "summary" | "bookmark" | "procedure" | "event" | "entity" | "topic" | "concept" | "evidence" | "self_model") | null;
            ids?: string[] | string | null;
            client_ids?: string[] | string | null;
            /** @description All of them. */
            tags?: string[] | string | null;
            status?: components["schemas"]["StatusEnum"] | components["schemas"]["NullEnum"];
            pinned?: boolean | null;
            /** @description Conditions on fields, with AND, OR and NOT. If user_id, agent_id, app_id and run_id are all omitted, equality conditions on them, at the top level or in a top-level AND, select the owner. */
            filters?: components["schemas"]["Filters"] | null;
            as_of?: string | null;
            /** @default 50 */
            limit?: number | null;
            /** @description The next_cursor of the page before. */
            cursor?: string | null;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description The arguments of `load_tool_history`; optional ones may be null. */
        LoadCallInput: {
            conversation_id?: string | null;
            thread_id?: string | null;
            user_id?: string | null;
            agent_id?: string | null;
            query?: string | null;
            /** @default 2000 */
            max_tokens?: number | null;
            start?: number | null;
            end?: number | null;
            /** Format: uuid */
            uuid: string;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /**
         * @description * `none` - none
         *     * `keywords` - keywords
         *     * `semantic` - semantic
         *     * `hybrid` - hybrid
         * @enum {string}
         */
        LoadEnum: "none" | "keywords" | "semantic" | "hybrid";
        /** @description A tool result: all of it, a range, or the requested passages. */
        Loaded: {
            warnings?: components["schemas"]["FieldWarning"][];
            archive: components["schemas"]["Archive"];
            tool_input: unknown;
            content: string;
            part: string;
            start: number;
            end: number;
            tokens: number;
            passages: components["schemas"]["ArchivePassage"][];
            decisions: {
                [key: string]: unknown;
            }[];
        };
        /** @description A loaded result with the reason; `part` is whole, passages or missing. */
        LoadedWhy: {
            /** Format: uuid */
            uuid: string;
            part: string;
            tokens: number;
            why: {
                [key: string]: unknown;
            };
        };
        /** @description The position of a text in its source. */
        Locator: {
            source: string;
            /** Format: uuid */
            source_id: string;
            path: string;
            url: string | null;
            sha: string;
            version: number;
            revision: string | null;
            start: number;
            end: number;
            line_start: number | null;
            line_end: number | null;
            page: number | null;
            chunk_index: number | null;
            chunk_id: string | null;
            headings: string[];
        };
        /** @description A span of one text. */
        LocatorInput: {
            sha?: string | null;
            start?: number | null;
            end?: number | null;
            line_start?: number | null;
            line_end?: number | null;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description Texts in prompt order, the report, and the `state` for the next request. */
        LoreAnswer: {
            warnings?: components["schemas"]["FieldWarning"][];
            withheld?: number;
            results: components["schemas"]["LoreSnippet"][];
            build_report: components["schemas"]["LoreReport"];
            state: {
                [key: string]: number;
            };
        };
        /** @description The lorebook entry of a text. */
        LoreCitation: {
            kind: string;
            /** Format: uuid */
            ref: string;
            title: string;
            /** Format: uuid */
            commit_id: string;
        };
        /** @description An entry that fired, the reason, and why it was trimmed, if it was. */
        LoreFired: {
            /** Format: uuid */
            id: string;
            name: string;
            reason: string;
            lorebook: string;
            match: string | null;
            by: string | null;
            round: number;
            tokens: number;
            trimmed: string | null;
        };
        /** @description A conversation, oldest message first, and the `state` of the previous response. */
        LoreInput: {
            messages: (string | ({
                content: string | (string | ({
                    type?: string;
                    text: string;
                } & {
                    [key: string]: components["schemas"]["JSON"];
                }))[];
            } & {
                [key: string]: components["schemas"]["JSON"];
            }))[];
            lorebooks?: string[];
            /** @default  */
            scope?: string;
            /** @default 1000 */
            budget?: number;
            /** @default 4 */
            scan_depth?: number;
            /** @default 3 */
            max_recursion?: number;
            state?: {
                [key: string]: number;
            };
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description The entries that fired or were held back, and their tokens within the budget. */
        LoreReport: {
            fired: components["schemas"]["LoreFired"][];
            silent: components["schemas"]["LoreSilent"][];
            tokens: number;
            budget: number;
        };
        /** @description An entry with matching keys that did not fire, and the reason. */
        LoreSilent: {
            /** Format: uuid */
            id: string;
            name: string;
            reason: string;
        };
        /** @description A text for the prompt. */
        LoreSnippet: {
            text: string;
            /** Format: double */
            score: number;
            tags: string[];
            trust: string;
            citations: components["schemas"]["LoreCitation"][];
        };
        /** @description The paths in the condition of a rule. */
        MatchDetail: {
            condition_paths: string[];
        };
        /** @description A matching rule. */
        MatchedRule: {
            /** Format: uuid */
            rule_node_id: string;
            state: string;
            rule_scope: string;
            summary: string;
            if_json: {
                [key: string]: unknown;
            };
            then_json: {
                [key: string]: unknown;
            };
            exceptions_json: unknown[];
            stats: components["schemas"]["Stats"];
            rank: components["schemas"]["RankShown"];
            match_detail: components["schemas"]["MatchDetail"];
            /** Format: uuid */
            commit_id: string;
        };
        /** @description A memory with all fields, without its embedding. */
        Memory: {
            warnings?: components["schemas"]["FieldWarning"][];
            /** Format: uuid */
            id: string;
            client_id: string | null;
            scope: string;
            text: string;
            title: string;
            kind: string;
            metadata: {
                [key: string]: unknown;
            };
            tags: string[];
            entities: string[];
            user_id: string | null;
            agent_id: string | null;
            app_id: string | null;
            run_id: string | null;
            visibility: string;
            status: string;
            pinned: boolean;
            tier: string;
            /** Format: double */
            importance: number;
            /** Format: double */
            confidence: number;
            /** Format: double */
            salience: number;
            half_life_days: number | null;
            sources: unknown[];
            raw_ref: string | null;
            evidence_ref: string | null;
            flags: string[];
            /** Format: date-time */
            observed_at: string;
            valid_from: string | null;
            valid_to: string | null;
            expires_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            last_activated_at: string | null;
            version: number;
            /** Format: uuid */
            commit_id: string;
            uri: string;
        };
        /**
         * @description * `private` - private
         *     * `shared` - shared
         * @enum {string}
         */
        MemoryLaneEnum: "private" | "shared";
        /**
         * @description * `procedural_memory` - procedural_memory
         * @enum {string}
         */
        MemoryTypeEnum: "procedural_memory";
        /** @description A memory with the state of its embedding. */
        MemoryWithVector: {
            warnings?: components["schemas"]["FieldWarning"][];
            /** Format: uuid */
            id: string;
            client_id: string | null;
            scope: string;
            text: string;
            title: string;
            kind: string;
            metadata: {
                [key: string]: unknown;
            };
            tags: string[];
            entities: string[];
            user_id: string | null;
            agent_id: string | null;
            app_id: string | null;
            run_id: string | null;
            visibility: string;
            status: string;
            pinned: boolean;
            tier: string;
            /** Format: double */
            importance: number;
            /** Format: double */
            confidence: number;
            /** Format: double */
            salience: number;
            half_life_days: number | null;
            sources: unknown[];
            raw_ref: string | null;
            evidence_ref: string | null;
            flags: string[];
            /** Format: date-time */
            observed_at: string;
            valid_from: string | null;
            valid_to: string | null;
            expires_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            last_activated_at: string | null;
            version: number;
            /** Format: uuid */
            commit_id: string;
            uri: string;
            embedding_status: string;
            embedding_model: string;
            embedding_ready_at: string | null;
        };
        /** @description A conversation. */
        MessagesInput: {
            conversation_id?: string | null;
            thread_id?: string | null;
            user_id?: string | null;
            agent_id?: string | null;
            messages: ({
                /** @enum {string} */
                role: "assistant" | "developer" | "system" | "tool" | "user";
            } & {
                [key: string]: components["schemas"]["JSON"];
            })[];
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description The current version of a document that changed after it was cited. */
        Moved: {
            version: number;
            sha: string | null;
            removed_at: string | null;
            still_there: boolean;
        };
        /**
         * @description A node of a batch: a memory, or an object of another app, such as a rule.
         *
         *     A memory without text is its title.
         */
        NodeInput: ({
            user_id?: string | null;
            agent_id?: string | null;
            app_id?: string | null;
            run_id?: string | null;
            scope?: string | null;
            text?: string | null;
            kind?: components["schemas"]["Kind"] | components["schemas"]["NullEnum"];
            title?: string | null;
            metadata?: {
                [key: string]: components["schemas"]["JSON"];
            } | null;
            tags?: string[] | null;
            entities?: string[] | null;
            /** @description Citations. */
            sources?: {
                [key: string]: components["schemas"]["JSON"];
            }[] | null;
            raw_ref?: string | null;
            evidence_ref?: string | null;
            id?: string | null;
            /** @description Your own ID. Repeating a write with the same ID and body changes nothing. */
            client_id?: string | null;
            visibility?: components["schemas"]["VisibilityEnum"] | components["schemas"]["NullEnum"];
            importance?: number | null;
            confidence?: number | null;
            salience?: number | null;
            half_life_days?: number | null;
            tier?: components["schemas"]["TierEnum"] | components["schemas"]["NullEnum"];
            observed_at?: string | null;
            valid_from?: string | null;
            valid_to?: string | null;
            expires_at?: string | null;
        } & {
            [key: string]: components["schemas"]["JSON"];
        }) | {
            text: string | unknown[] | Record<string, never>;
        } | {
            title: string | unknown[] | Record<string, never>;
        };
        NullEnum: null;
        /** @description The outcome of the call, as reported. */
        Outcome: {
            success: boolean | null;
            input_tokens: number | null;
            output_tokens: number | null;
            cached_tokens: number | null;
            latency_ms: number | null;
            told_at: string | null;
        };
        /** @description The outcome of a call. */
        OutcomeInput: {
            success?: boolean | null;
            usage?: components["schemas"]["UsageInput"];
            latency_ms?: number | null;
            model?: string;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /**
         * @description * `kmapp` - kmapp
         *     * `slack` - slack
         *     * `mem0` - mem0
         * @enum {string}
         */
        PayloadFormatEnum: "kmapp" | "slack" | "mem0";
        /** @description A conversation, and which results to load. */
        PrepareInput: {
            conversation_id?: string | null;
            thread_id?: string | null;
            user_id?: string | null;
            agent_id?: string | null;
            messages: ({
                /** @enum {string} */
                role: "assistant" | "developer" | "system" | "tool" | "user";
            } & {
                [key: string]: components["schemas"]["JSON"];
            })[];
            /** @default 1 */
            keep_turns?: number | null;
            query?: string | null;
            /** @default none */
            load?: components["schemas"]["LoadEnum"] | components["schemas"]["NullEnum"];
            load_uuids?: string[] | null;
            /** @default 1 */
            load_limit?: number | null;
            /** @description Tokens of each loaded result: passages about `query` or the last user message. */
            max_tokens?: number | null;
            language?: components["schemas"]["LanguageEnum"] | components["schemas"]["NullEnum"];
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description Messages for the model, with the changes. */
        PreparedAnswer: {
            warnings?: components["schemas"]["FieldWarning"][];
            messages: {
                [key: string]: unknown;
            }[];
            archived: components["schemas"]["Kept"][];
            loaded: components["schemas"]["LoadedWhy"][];
            tokens: components["schemas"]["Size"];
            decisions: {
                [key: string]: unknown;
            }[];
        };
        /** @description The content for the conversation: the result unchanged, or its placeholder. */
        Processed: {
            warnings?: components["schemas"]["FieldWarning"][];
            archived: boolean;
            content: string;
            tokens: components["schemas"]["Size"];
            archive: components["schemas"]["Archive"] | null;
        };
        /** @description A proposed memory, and the one that it would supersede. */
        Proposal: {
            warnings?: components["schemas"]["FieldWarning"][];
            /** Format: uuid */
            id: string;
            client_id: string | null;
            scope: string;
            text: string;
            title: string;
            kind: string;
            metadata: {
                [key: string]: unknown;
            };
            tags: string[];
            entities: string[];
            user_id: string | null;
            agent_id: string | null;
            app_id: string | null;
            run_id: string | null;
            visibility: string;
            status: string;
            pinned: boolean;
            tier: string;
            /** Format: double */
            importance: number;
            /** Format: double */
            confidence: number;
            /** Format: double */
            salience: number;
            half_life_days: number | null;
            sources: unknown[];
            raw_ref: string | null;
            evidence_ref: string | null;
            flags: string[];
            /** Format: date-time */
            observed_at: string;
            valid_from: string | null;
            valid_to: string | null;
            expires_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            last_activated_at: string | null;
            version: number;
            /** Format: uuid */
            commit_id: string;
            uri: string;
            /** Format: uuid */
            supersedes: string;
        };
        /**
         * @description * `openai` - openai
         *     * `anthropic` - anthropic
         * @enum {string}
         */
        ProviderEnum: "openai" | "anthropic";
        /** @description The cited text, unchanged. `moved` describes the current document if it differs. */
        QuotedAnswer: {
            warnings?: components["schemas"]["FieldWarning"][];
            text: string;
            document: components["schemas"]["DocumentAnswer"];
            source: string;
            trust: string;
            sha: string;
            version: number;
            revision: string | null;
            start: number;
            end: number;
            /** Format: date-time */
            read_at: string;
            current: boolean;
            moved: components["schemas"]["Moved"] | null;
        };
        /** @description The rank of a rule and its parts. */
        RankShown: {
            /** Format: double */
            score: number;
            /** Format: double */
            evidence_score: number;
            priority: number;
            /** Format: double */
            weight: number;
            specificity: number;
        };
        /** @description Learned search weights with their results on held-out questions. */
        RankingAnswer: {
            warnings?: components["schemas"]["FieldWarning"][];
            /** Format: uuid */
            id: string;
            number: number;
            status: string;
            weights: {
                [key: string]: number;
            };
            evaluation: {
                [key: string]: unknown;
            };
            created_by: string;
            /** Format: date-time */
            created_at: string;
            shadowed_at: string | null;
            activated_at: string | null;
        };
        /**
         * @description * `learning` - Learning
         *     * `draft` - Draft
         *     * `shadow` - Shadow
         *     * `active` - Active
         *     * `retired` - Retired
         * @enum {string}
         */
        RankingStatus: "learning" | "draft" | "shadow" | "active" | "retired";
        /** @description The rankings of the account, newest first. */
        RankingsAnswer: {
            results: components["schemas"]["RankingAnswer"][];
        };
        /** @description A rating, and its effect on the memory. */
        Rating: {
            warnings?: components["schemas"]["FieldWarning"][];
            /** Format: uuid */
            id: string;
            /** Format: uuid */
            memory_id: string;
            outcome: string;
            reason: string;
            used_in: string | null;
            /** Format: double */
            salience: number;
            version: number;
            /** Format: uuid */
            commit_id: string;
        };
        /** @description Recalled memories. The request chooses the fields of nodes; embeddings are left out. */
        RecallAnswer: {
            variant: string;
            index_version: string;
            algo_version: string;
            warnings?: components["schemas"]["FieldWarning"][];
            withheld?: number;
            /** Format: uuid */
            tenant_id: string;
            scope: string;
            seeds: {
                [key: string]: unknown;
            }[];
            subgraph: {
                [key: string]: unknown;
            };
            ranked: {
                [key: string]: unknown;
            }[];
            context: {
                [key: string]: unknown;
            };
            decisions: {
                [key: string]: unknown;
            }[];
            debug?: {
                [key: string]: unknown;
            };
            rules?: {
                [key: string]: unknown;
            };
        };
        /** @description The embedding of a query, computed by the client with the active model. */
        RecallInput: {
            user_id?: string | null;
            agent_id?: string | null;
            app_id?: string | null;
            run_id?: string | null;
            scope?: string | null;
            kinds?: ("fact" | "preference" | "skill" | "pattern" | "context" | "project_state" | "summary" | "bookmark" | "procedure" | "event" | "entity" | "topic" | "concept" | "evidence" | "self_model")[] | ("fact" | "preference" | "skill" | "pattern" | "context" | "project_state" | "summary" | "bookmark" | "procedure" | "event" | "entity" | "topic" | "concept" | "evidence" | "self_model") | null;
            tags?: string[] | string | null;
            observed_after?: string | null;
            observed_before?: string | null;
            /** @description Conditions on fields, with AND, OR and NOT. If user_id, agent_id, app_id and run_id are all omitted, equality conditions on them, at the top level or in a top-level AND, select the owner. */
            filters?: components["schemas"]["Filters"] | null;
            /** @description Search the state at this time. */
            as_of?: string | null;
            /**
             * @description The parts that add up to each score.
             * @default false
             */
            explain?: boolean | null;
            /** @default 30 */
            limit?: number | null;
            /** @default 0 */
            min_score?: number | null;
            /** @default 2 */
            neighborhood_hops?: number | null;
            /** @default 50 */
            max_nodes?: number | null;
            /** @default 100 */
            max_edges?: number | null;
            /** @default 100 */
            ranked_limit?: number | null;
            /** @default 0 */
            min_edge_weight?: number | null;
            /** @default 0 */
            min_edge_confidence?: number | null;
            /** @default false */
            include_meta?: boolean | null;
            /** @default false */
            include_slots?: boolean | null;
            /** @default false */
            include_slots_preview?: boolean | null;
            /** @default false */
            return_debug?: boolean | null;
            /** @default false */
            include_embeddings?: boolean | null;
            /** @default 16384 */
            max_debug_bytes?: number | null;
            context_token_budget?: number | null;
            /** @description Context to evaluate the rules for, with a key that has the scope rules:read. */
            rules_context?: {
                [key: string]: components["schemas"]["JSON"];
            } | null;
            /** @default false */
            rules_include_shadow?: boolean | null;
            /** @default 50 */
            rules_limit?: number | null;
            context_char_budget?: number | null;
            query_embedding: number[];
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description Recalled memories, with the query and its embedding model. */
        RecallTextAnswer: {
            variant: string;
            index_version: string;
            algo_version: string;
            warnings?: components["schemas"]["FieldWarning"][];
            withheld?: number;
            /** Format: uuid */
            tenant_id: string;
            scope: string;
            seeds: {
                [key: string]: unknown;
            }[];
            subgraph: {
                [key: string]: unknown;
            };
            ranked: {
                [key: string]: unknown;
            }[];
            context: {
                [key: string]: unknown;
            };
            decisions: {
                [key: string]: unknown;
            }[];
            debug?: {
                [key: string]: unknown;
            };
            rules?: {
                [key: string]: unknown;
            };
            query: {
                [key: string]: string;
            };
        };
        /** @description A query. */
        RecallTextInput: {
            user_id?: string | null;
            agent_id?: string | null;
            app_id?: string | null;
            run_id?: string | null;
            scope?: string | null;
            kinds?: ("fact" | "preference" | "skill" | "pattern" | "context" | "project_state" | "summary" | "bookmark" | "procedure" | "event" | "entity" | "topic" | "concept" | "evidence" | "self_model")[] | ("fact" | "preference" | "skill" | "pattern" | "context" | "project_state" | "summary" | "bookmark" | "procedure" | "event" | "entity" | "topic" | "concept" | "evidence" | "self_model") | null;
            tags?: string[] | string | null;
            observed_after?: string | null;
            observed_before?: string | null;
            /** @description Conditions on fields, with AND, OR and NOT. If user_id, agent_id, app_id and run_id are all omitted, equality conditions on them, at the top level or in a top-level AND, select the owner. */
            filters?: components["schemas"]["Filters"] | null;
            /** @description Search the state at this time. */
            as_of?: string | null;
            /**
             * @description The parts that add up to each score.
             * @default false
             */
            explain?: boolean | null;
            /** @default 30 */
            limit?: number | null;
            /** @default 0 */
            min_score?: number | null;
            /** @default 2 */
            neighborhood_hops?: number | null;
            /** @default 50 */
            max_nodes?: number | null;
            /** @default 100 */
            max_edges?: number | null;
            /** @default 100 */
            ranked_limit?: number | null;
            /** @default 0 */
            min_edge_weight?: number | null;
            /** @default 0 */
            min_edge_confidence?: number | null;
            /** @default false */
            include_meta?: boolean | null;
            /** @default false */
            include_slots?: boolean | null;
            /** @default false */
            include_slots_preview?: boolean | null;
            /** @default false */
            return_debug?: boolean | null;
            /** @default false */
            include_embeddings?: boolean | null;
            /** @default 16384 */
            max_debug_bytes?: number | null;
            context_token_budget?: number | null;
            /** @description Context to evaluate the rules for, with a key that has the scope rules:read. */
            rules_context?: {
                [key: string]: components["schemas"]["JSON"];
            } | null;
            /** @default false */
            rules_include_shadow?: boolean | null;
            /** @default 50 */
            rules_limit?: number | null;
            context_char_budget?: number | null;
            query: string;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /**
         * @description * `memory` - memory
         *     * `knowledge` - knowledge
         * @enum {string}
         */
        RemoteSourcesEnum: "memory" | "knowledge";
        /** @description Changes to the recorded call. Without changes, the call is compared with itself. */
        ReplayInput: {
            policy?: {
                [key: string]: components["schemas"]["JSON"];
            };
            context_window_tokens?: number;
            reserved_output_tokens?: number;
            tool_profile?: components["schemas"]["ToolProfileEnum"];
            /**
             * @description Queries memory and knowledge again. By default the recorded results are used.
             *
             *     * `v1` - v1
             *     * `v2` - v2
             *     * `v3` - v3
             *     * `v4` - v4
             */
            variant?: components["schemas"]["VariantEnum"];
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description The differences with the full policy and the variant. */
        Replayed: {
            /** Format: uuid */
            report_id: string;
            fits_before: boolean;
            fits_after: boolean;
            tokens: {
                [key: string]: components["schemas"]["Change"];
            };
            dropped: components["schemas"]["Change"];
            actions: components["schemas"]["ActionsChange"];
            evidence_lost: string[];
            evidence_gained: string[];
            tools_lost: string[];
            tools_gained: string[];
            messages_lost: number[];
            messages_gained: number[];
            warnings?: components["schemas"]["FieldWarning"][];
            policy: {
                [key: string]: unknown;
            };
            variant: string;
        };
        /** @description One call with its full report and OpenTelemetry attributes. */
        Report: {
            /** Format: uuid */
            id: string;
            conversation_id: string | null;
            thread_id: string | null;
            user_id: string | null;
            agent_id: string | null;
            app_id: string | null;
            model: string | null;
            variant: string;
            estimated_tokens: components["schemas"]["EstimatedTokens"];
            actions: string[];
            cost: number | null;
            outcome: components["schemas"]["Outcome"];
            /** Format: date-time */
            created_at: string;
            warnings?: components["schemas"]["FieldWarning"][];
            context_cost: components["schemas"]["ContextCost"];
            attributes: {
                [key: string]: unknown;
            };
            inputs_expire_at?: string | null;
        };
        /** @description One call in a list. */
        ReportBrief: {
            /** Format: uuid */
            id: string;
            conversation_id: string | null;
            thread_id: string | null;
            user_id: string | null;
            agent_id: string | null;
            app_id: string | null;
            model: string | null;
            variant: string;
            estimated_tokens: components["schemas"]["EstimatedTokens"];
            actions: string[];
            cost: number | null;
            outcome: components["schemas"]["Outcome"];
            /** Format: date-time */
            created_at: string;
        };
        /** @description Calls, newest first; `next` is the `before` of the next page. */
        ReportPage: {
            warnings?: components["schemas"]["FieldWarning"][];
            results: components["schemas"]["ReportBrief"][];
            next: string | null;
        };
        /**
         * @description A tool's result: text, or JSON, which is stored as text.
         *
         *     The message of a chat API is accepted too: `content` is a text, or a list of parts with text.
         */
        ResultInput: {
            conversation_id?: string | null;
            thread_id?: string | null;
            user_id?: string | null;
            agent_id?: string | null;
            tool_name: string;
            tool_input?: components["schemas"]["JSON"] | null;
            tool_call_id?: string | null;
            result: boolean | number | string | components["schemas"]["JSON"][] | {
                [key: string]: components["schemas"]["JSON"];
            };
            sources?: string[] | null;
            language?: components["schemas"]["LanguageEnum"] | components["schemas"]["NullEnum"];
            /** @description Characters above which the result is archived; overrides the account's setting. */
            threshold?: number | null;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description A search of tool results. */
        ResultsSearchInput: ({
            conversation_id?: string | null;
            thread_id?: string | null;
            user_id?: string | null;
            agent_id?: string | null;
            query: string;
            tool_name?: string | null;
            /**
             * @description Also in other conversations, if the account allows it.
             * @default false
             */
            across?: boolean | null;
            /** @default 10 */
            limit?: number | null;
        } & {
            [key: string]: components["schemas"]["JSON"];
        }) | {
            conversation_id: string | unknown[] | Record<string, never>;
        } | {
            /** @constant */
            across: true;
        };
        /** @description The fields of a rule to change. Omitted fields do not change. */
        RuleChange: ({
            if?: {
                [key: string]: components["schemas"]["JSON"];
            };
            then?: {
                [key: string]: components["schemas"]["JSON"];
            };
            exceptions?: {
                [key: string]: components["schemas"]["JSON"];
            }[];
            priority?: number;
            /** Format: double */
            weight?: number;
            name?: string;
            summary?: string;
            audience?: components["schemas"]["AudienceEnum"];
            audience_id?: string;
            reason?: string;
            /** @description Returns 409 unless this is the current version. */
            version?: number;
        } & {
            [key: string]: components["schemas"]["JSON"];
        }) | unknown | unknown | unknown | unknown | unknown | unknown | unknown | unknown | unknown;
        /** @description A rule to create as a draft. */
        RuleInput: {
            if?: {
                [key: string]: components["schemas"]["JSON"];
            };
            then?: {
                [key: string]: components["schemas"]["JSON"];
            };
            exceptions?: {
                [key: string]: components["schemas"]["JSON"];
            }[];
            priority?: number;
            /** Format: double */
            weight?: number;
            name: string;
            summary?: string;
            audience?: components["schemas"]["AudienceEnum"];
            audience_id?: string;
            reason?: string;
            scope?: string | null;
            /** @description Your own ID. Repeating a write with the same ID and body changes nothing. */
            client_id?: string | null;
            /** Format: uuid */
            id?: string;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /**
         * @description * `positive` - good
         *     * `neutral` - neutral
         *     * `negative` - bad
         *     * `very_negative` - very bad
         * @enum {string}
         */
        RuleOutcome: "positive" | "neutral" | "negative" | "very_negative";
        /** @description A rule. `if`, `then` and `exceptions` have the suffix `_json`. */
        RuleShown: {
            warnings?: components["schemas"]["FieldWarning"][];
            /** Format: uuid */
            id: string;
            uri: string;
            client_id: string | null;
            scope: string;
            name: string;
            summary: string;
            if_json: {
                [key: string]: unknown;
            };
            then_json: {
                [key: string]: unknown;
            };
            exceptions_json: unknown[];
            priority: number;
            /** Format: double */
            weight: number;
            audience: string;
            audience_id: string | null;
            state: string;
            /** Format: uuid */
            lineage: string;
            edition: number;
            version: number;
            issues: {
                [key: string]: string;
            }[];
            shadowed_at: string | null;
            activated_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: uuid */
            commit_id: string;
        };
        /** @description Feedback on a rule. */
        RuleVerdict: {
            input_text?: string;
            input_sha256?: string | null;
            outcome: components["schemas"]["RuleOutcome"];
            note?: string;
            /** @description The run that used the rule. Each run and outcome counts once. */
            run_id?: string | null;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description A page of rules; `next` is the `after` of the next page. */
        RulesAnswer: {
            warnings?: components["schemas"]["FieldWarning"][];
            withheld?: number;
            rules: components["schemas"]["RuleShown"][];
            next: string | null;
        };
        /** @description The decisions of a run and their feedback. */
        RunAnswer: {
            /** Format: uuid */
            tenant_id: string;
            scope: string;
            warnings?: components["schemas"]["FieldWarning"][];
            run_id: string;
            lifecycle: components["schemas"]["Lifecycle"];
            decisions: components["schemas"]["DecisionShown"][];
            feedback?: components["schemas"]["RunFeedback"];
        };
        /** @description The feedback of a run. */
        RunFeedback: {
            total: number;
            by_outcome: {
                [key: string]: number;
            };
            linked_decision_count: number;
            tools_feedback_count: number;
            recent: components["schemas"]["FeedbackShown"][];
        };
        /** @description The run to return, and how many of its decisions and feedback. */
        RunInput: {
            scope?: string | null;
            run_id: string;
            /** @default 50 */
            decision_limit?: number;
            /** @default true */
            include_feedback?: boolean;
            /** @default 50 */
            feedback_limit?: number;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description Search results, best first, and decisions of the search. */
        SearchAnswer: {
            variant: string;
            index_version: string;
            algo_version: string;
            warnings?: components["schemas"]["FieldWarning"][];
            withheld?: number;
            results: components["schemas"]["Hit"][];
            decisions: {
                [key: string]: unknown;
            }[];
        };
        /** @description A search. */
        SearchInput: {
            user_id?: string | null;
            agent_id?: string | null;
            app_id?: string | null;
            run_id?: string | null;
            scope?: string | null;
            kinds?: ("fact" | "preference" | "skill" | "pattern" | "context" | "project_state" | "summary" | "bookmark" | "procedure" | "event" | "entity" | "topic" | "concept" | "evidence" | "self_model")[] | ("fact" | "preference" | "skill" | "pattern" | "context" | "project_state" | "summary" | "bookmark" | "procedure" | "event" | "entity" | "topic" | "concept" | "evidence" | "self_model") | null;
            tags?: string[] | string | null;
            observed_after?: string | null;
            observed_before?: string | null;
            /** @description Conditions on fields, with AND, OR and NOT. If user_id, agent_id, app_id and run_id are all omitted, equality conditions on them, at the top level or in a top-level AND, select the owner. */
            filters?: components["schemas"]["Filters"] | null;
            /** @description Search the state at this time. */
            as_of?: string | null;
            /**
             * @description The parts that add up to each score.
             * @default false
             */
            explain?: boolean | null;
            query: string;
            /** @default 10 */
            limit?: number | null;
            /** @default 0 */
            min_score?: number | null;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description A part of the prompt. Unstable sections go to the tail. */
        SectionInput: {
            name: string;
            text: string;
            /** @default true */
            stable?: boolean;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description The selected tool and the rules that led to it. */
        SelectAnswer: {
            /** Format: uuid */
            tenant_id: string;
            scope: string;
            warnings?: components["schemas"]["FieldWarning"][];
            withheld?: number;
            candidates: string[];
            selection: components["schemas"]["SelectionShown"];
            rules: components["schemas"]["SelectedBy"];
            decision: components["schemas"]["DecisionLink"];
            selection_summary: {
                [key: string]: unknown;
            };
            execution_kernel: {
                [key: string]: unknown;
            };
        };
        /** @description A selection of a tool. */
        SelectInput: {
            scope?: string | null;
            context: {
                [key: string]: components["schemas"]["JSON"];
            };
            user_id?: string | null;
            agent_id?: string | null;
            app_id?: string | null;
            candidates: string[];
            /** @default false */
            include_shadow?: boolean;
            /** @default 50 */
            rules_limit?: number;
            run_id?: string | null;
            /**
             * @description Return 400 if the rules exclude all tools, instead of ignoring allow-lists.
             * @default true
             */
            strict?: boolean;
            /** @default false */
            reorder_candidates?: boolean;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description The rules that a selection is based on. */
        SelectedBy: {
            considered: number;
            matched: number;
            active: components["schemas"]["MatchedRule"][];
            shadow: components["schemas"]["MatchedRule"][];
            applied: components["schemas"]["Applied"];
            tool_conflicts_summary: components["schemas"]["ToolConflict"][];
            shadow_selection?: components["schemas"]["SelectionShown"];
        };
        /** @description The result for each candidate. */
        SelectionShown: {
            candidates: string[];
            allowed: string[];
            denied: components["schemas"]["Denied"][];
            preferred: string[];
            ordered: string[];
            selected: string | null;
            fallback: components["schemas"]["Fallback"];
        };
        /** @description The settings to change; each replaces its previous value. */
        SettingsInput: {
            inputs_days?: number | null;
            policy?: {
                [key: string]: components["schemas"]["JSON"];
            };
            /** @description Per million tokens, by model. */
            prices?: {
                [key: string]: components["schemas"]["JSON"];
            };
            /** @description Percent by variant; in total 100. */
            variants?: {
                [key: string]: components["schemas"]["JSON"];
            };
            /** @description Another kmapp to query first: one of REMOTE_BASE_URLS, or empty. */
            remote_url?: string;
            /** @description Write-only. */
            remote_key?: string;
            remote_sources?: components["schemas"]["RemoteSourcesEnum"][];
            /** @description Returns 409 unless this is the current version. */
            version?: number;
            reason?: string;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description Calls whose tokens changed by at least `least` and less than `most` percent. */
        Share: {
            least: number | null;
            most: number | null;
            calls: number;
        };
        /** @description The last checkpoint. */
        SignedHead: {
            seq: number;
            commit_hash: string;
            /** Format: date-time */
            created_at: string;
        };
        /** @description Tokens before and after. */
        Size: {
            before: number;
            after: number;
        };
        /** @description A matching passage with its citation. */
        SnippetAnswer: {
            /** Format: uuid */
            id: string;
            text: string;
            /** Format: double */
            score: number;
            title: string;
            headings: string[];
            source: string;
            kind: string;
            trust: string;
            mime: string;
            tags: string[];
            flags: string[];
            embedding_status: string;
            citations: components["schemas"]["KnowledgeCitation"][];
            explain?: components["schemas"]["SnippetExplanation"];
        };
        /** @description A score and its parts, which add up to it. */
        SnippetExplanation: {
            /** Format: double */
            score: number;
            parts: {
                [key: string]: number;
            };
        };
        /** @description A source of documents. */
        SourceAnswer: {
            warnings?: components["schemas"]["FieldWarning"][];
            /** Format: uuid */
            id: string;
            name: string;
            kind: string;
            trust: string;
            scope: string | null;
            ref: string | null;
            revision: string | null;
            index_versions: string[];
            documents: number;
            waiting: number;
            failed: number;
            refreshed_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
        };
        /** @description The name of a source and its properties. Omitted properties do not change. */
        SourceInput: {
            name: string;
            kind?: components["schemas"]["SourceKind"] | components["schemas"]["NullEnum"];
            trust?: components["schemas"]["TrustEnum"] | components["schemas"]["NullEnum"];
            scope?: string | null;
            ref?: string | null;
            revision?: string | null;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /**
         * @description * `repo_docs` - repository
         *     * `file_set` - files
         *     * `upload` - uploads
         *     * `web_snapshot` - web pages
         *     * `lorebook` - lorebook
         * @enum {string}
         */
        SourceKind: "repo_docs" | "file_set" | "upload" | "web_snapshot" | "lorebook";
        /** @description A rule that contributes to a policy. */
        SourceShown: {
            /** Format: uuid */
            rule_node_id: string;
            state: string;
            /** Format: uuid */
            commit_id: string;
            touched_paths: string[];
            rank: components["schemas"]["RankShown"];
        };
        /** @description A page of sources by name; `next` is the `after` of the next page. */
        SourcesAnswer: {
            warnings?: components["schemas"]["FieldWarning"][];
            sources: components["schemas"]["SourceAnswer"][];
            next: string | null;
        };
        /** @description Distribution of the change in tokens, in percent, over calls that fit both sides. */
        Spread: {
            before: number;
            after: number;
            calls: number;
            /** Format: double */
            tenth: number;
            /** Format: double */
            median: number;
            /** Format: double */
            ninetieth: number;
            /** Format: double */
            percent: number;
            buckets: components["schemas"]["Share"][];
        };
        /** @description The state of a rule after a change, and the commit of the change. */
        StateAnswer: {
            /** Format: uuid */
            tenant_id: string;
            scope: string;
            warnings?: components["schemas"]["FieldWarning"][];
            /** Format: uuid */
            rule_node_id: string;
            state: string;
            version: number;
            /** Format: uuid */
            commit_id: string;
            commit_uri: string;
            commit_hash: string;
        };
        /**
         * @description * `draft` - Draft
         *     * `shadow` - Shadow
         *     * `active` - Active
         *     * `disabled` - Disabled
         * @enum {string}
         */
        StateEnum: "draft" | "shadow" | "active" | "disabled";
        /** @description The new state of a rule, with the reason. */
        StateInput: {
            input_text?: string;
            input_sha256?: string | null;
            /** @description Returns 409 unless this is the current version. */
            version?: number;
            scope?: string | null;
            /** Format: uuid */
            rule_node_id: string;
            state: components["schemas"]["StateEnum"];
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description What is signed: the head of an account's chain, and the head that it replaces, if any. */
        StatementShown: {
            account: string;
            seq: number;
            commit_hash: string;
            created_at: string;
            replaces?: components["schemas"]["HeadShown"];
        };
        /** @description Numbers of feedback on a rule. */
        Stats: {
            positive: number;
            negative: number;
        };
        /**
         * @description * `proposed` - proposed
         *     * `active` - active
         *     * `superseded` - superseded
         *     * `rejected` - rejected
         *     * `forgotten` - forgotten
         *     * `draft` - draft
         * @enum {string}
         */
        StatusEnum: "proposed" | "active" | "superseded" | "rejected" | "forgotten" | "draft";
        /** @description The new status. Retiring the active ranking restores the one that it replaced. */
        StatusInput: {
            status: components["schemas"]["RankingStatus"];
            reason?: string;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description The stored memory; `decisions` lists duplicates and similar memories. */
        StoreAnswer: {
            warnings?: components["schemas"]["FieldWarning"][];
            /** Format: uuid */
            id: string;
            client_id: string | null;
            scope: string;
            text: string;
            title: string;
            kind: string;
            metadata: {
                [key: string]: unknown;
            };
            tags: string[];
            entities: string[];
            user_id: string | null;
            agent_id: string | null;
            app_id: string | null;
            run_id: string | null;
            visibility: string;
            status: string;
            pinned: boolean;
            tier: string;
            /** Format: double */
            importance: number;
            /** Format: double */
            confidence: number;
            /** Format: double */
            salience: number;
            half_life_days: number | null;
            sources: unknown[];
            raw_ref: string | null;
            evidence_ref: string | null;
            flags: string[];
            /** Format: date-time */
            observed_at: string;
            valid_from: string | null;
            valid_to: string | null;
            expires_at: string | null;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            last_activated_at: string | null;
            version: number;
            /** Format: uuid */
            commit_id: string;
            uri: string;
            decisions: {
                [key: string]: unknown;
            }[];
        };
        /** @description One memory to store. */
        StoreInput: {
            user_id?: string | null;
            agent_id?: string | null;
            app_id?: string | null;
            run_id?: string | null;
            scope?: string | null;
            text: string;
            kind?: components["schemas"]["Kind"] | components["schemas"]["NullEnum"];
            title?: string | null;
            metadata?: {
                [key: string]: components["schemas"]["JSON"];
            } | null;
            tags?: string[] | null;
            entities?: string[] | null;
            /** @description Citations. */
            sources?: {
                [key: string]: components["schemas"]["JSON"];
            }[] | null;
            raw_ref?: string | null;
            evidence_ref?: string | null;
            id?: string | null;
            /** @description Your own ID. Repeating a write with the same ID and body changes nothing. */
            client_id?: string | null;
            visibility?: components["schemas"]["VisibilityEnum"] | components["schemas"]["NullEnum"];
            importance?: number | null;
            confidence?: number | null;
            salience?: number | null;
            half_life_days?: number | null;
            tier?: components["schemas"]["TierEnum"] | components["schemas"]["NullEnum"];
            observed_at?: string | null;
            valid_from?: string | null;
            valid_to?: string | null;
            expires_at?: string | null;
            /** @default true */
            auto_embed?: boolean | null;
            /**
             * @description Whether identical texts are stored once.
             * @default true
             */
            dedupe?: boolean | null;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description A judgement. */
        StoredJudgement: {
            question: string;
            user_id: string | null;
            agent_id: string | null;
            app_id: string | null;
            run_id: string | null;
            scope: string | null;
            /** Format: uuid */
            memory_id: string;
            relevant: boolean | null;
            source: string;
            judged_by: string;
            /** Format: date-time */
            created_at: string;
        };
        /**
         * @description * `tool` - tool
         *     * `all` - all
         * @enum {string}
         */
        TargetEnum: "tool" | "all";
        /**
         * @description * `hot` - hot
         *     * `warm` - warm
         *     * `cold` - cold
         *     * `archive` - archive
         * @enum {string}
         */
        TierEnum: "hot" | "warm" | "cold" | "archive";
        /** @description A tool definition, and the paragraph for the system prompt. */
        ToolAnswer: {
            warnings?: components["schemas"]["FieldWarning"][];
            tool: {
                [key: string]: unknown;
            };
            system: string;
        };
        /** @description A tool on which rules disagree. */
        ToolConflict: {
            code: string;
            message: string;
            details: {
                [key: string]: unknown;
            };
            /** Format: uuid */
            winner_rule_node_id: string;
        };
        /** @description The tool lists of one rule. */
        ToolContribution: {
            /** Format: uuid */
            rule_node_id: string;
            allow: string[] | null;
            deny: string[];
            prefer: string[];
        };
        /** @description The origin of the combined tool lists. */
        ToolExplained: {
            notes: string[];
            contributions: components["schemas"]["ToolContribution"][];
            winners: components["schemas"]["ToolWinners"];
            conflicts: components["schemas"]["ToolConflict"][];
        };
        /** @description Feedback on the use of a tool. */
        ToolFeedbackInput: {
            scope?: string | null;
            context: {
                [key: string]: components["schemas"]["JSON"];
            };
            user_id?: string | null;
            agent_id?: string | null;
            app_id?: string | null;
            candidates: string[];
            /** @default false */
            include_shadow?: boolean;
            /** @default 50 */
            rules_limit?: number;
            run_id?: string | null;
            input_text?: string;
            input_sha256?: string | null;
            outcome: components["schemas"]["RuleOutcome"];
            note?: string;
            decision_id?: string | null;
            decision_uri?: string | null;
            selected_tool: string;
            /**
             * @description Count the matching rules that name the tool, or all matching rules.
             *
             *     * `tool` - tool
             *     * `all` - all
             * @default tool
             */
            target?: components["schemas"]["TargetEnum"];
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /**
         * @description * `minimal` - minimal
         *     * `coding` - coding
         *     * `web` - web
         *     * `full` - full
         * @enum {string}
         */
        ToolProfileEnum: "minimal" | "coding" | "web" | "full";
        /** @description The highest-ranked rule that prefers or denies each tool. */
        ToolWinners: {
            prefer_by_tool: {
                [key: string]: string;
            };
            deny_by_tool: {
                [key: string]: string;
            };
        };
        /** @description Related data that is erased with the memories. */
        Traces: {
            versions: number;
            edges: number;
            vectors: number;
            stored_answers: number;
            inputs_and_reasons: number;
            kept_elsewhere: number;
        };
        /**
         * @description * `trusted` - trusted
         *     * `semi_trusted` - semi-trusted
         *     * `untrusted` - untrusted
         * @enum {string}
         */
        TrustEnum: "trusted" | "semi_trusted" | "untrusted";
        /**
         * @description Decisions that would have changed from one tool to another, with their actual feedback.
         *
         *     None is no tool. With equal tools, another part of the decision would have changed.
         */
        TurnShown: {
            selected: string | null;
            would_select: string | null;
            times: number;
            positive: number;
            negative: number;
        };
        /**
         * @description * `next` - is followed by
         *     * `part_of` - is part of
         *     * `related_to` - is related to
         *     * `derived_from` - is derived from
         *     * `mentions` - mentions
         *     * `supersedes` - supersedes
         *     * `contradicts` - contradicts
         * @enum {string}
         */
        TypeEnum: "next" | "part_of" | "related_to" | "derived_from" | "mentions" | "supersedes" | "contradicts";
        /** @description The reason for disabling a rule or reverting its promotion. */
        Undoing: {
            /** @description Returns 409 unless this is the current version. */
            version?: number;
            reason?: string;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description Changes of a memory; omitted fields stay as they are. */
        UpdateInput: ({
            user_id?: string | null;
            agent_id?: string | null;
            app_id?: string | null;
            run_id?: string | null;
            scope?: string | null;
            id?: string | null;
            client_id?: string | null;
            text?: string | null;
            title?: string | null;
            kind?: components["schemas"]["Kind"] | components["schemas"]["NullEnum"];
            metadata?: {
                [key: string]: components["schemas"]["JSON"];
            } | null;
            tags?: string[] | null;
            /** @description The end of recall; null for none. */
            expires_at?: string | null;
            /** @description Instruction for a model that changes the memory. The event reports the result. */
            instruction?: string | null;
            /** @description Change it only if it is still at this version. */
            version?: number | null;
            reason?: string | null;
        } & {
            [key: string]: components["schemas"]["JSON"];
        }) & (({
            id: string | unknown[] | Record<string, never>;
        } | {
            client_id: string | unknown[] | Record<string, never>;
        }) & ({
            instruction: unknown;
        } | ({
            text: unknown;
        } | {
            title: unknown;
        } | {
            kind: unknown;
        } | {
            metadata: unknown;
        } | {
            tags: unknown;
        } | unknown)));
        /** @description Token counts of the provider, with the names of OpenAI, Anthropic or OpenTelemetry. */
        UsageInput: {
            input_tokens?: number | null;
            output_tokens?: number | null;
            cached_tokens?: number | null;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /**
         * @description * `v1` - v1
         *     * `v2` - v2
         *     * `v3` - v3
         *     * `v4` - v4
         * @enum {string}
         */
        VariantEnum: "v1" | "v2" | "v3" | "v4";
        /** @description Statistics of one variant; `success` is a rate of reported outcomes, with a 95 % interval. */
        VariantResult: {
            variant: string;
            calls: number;
            conversations: number;
            told: number;
            succeeded: number;
            success: number | null;
            /** Format: double */
            success_low: number;
            /** Format: double */
            success_high: number;
            latency_ms: number | null;
            latency_p95_ms: number | null;
            /** Format: double */
            tokens: number;
            cost: number | null;
        };
        /** @description Statistics by variant, over the newest calls of a period. */
        VariantResults: {
            warnings?: components["schemas"]["FieldWarning"][];
            days: number;
            shares: {
                [key: string]: number;
            };
            results: components["schemas"]["VariantResult"][];
        };
        /** @description Whether the chain is valid, and its problems. */
        VerifyAnswer: {
            ok: boolean;
            after: number;
            commits: number;
            rest: number;
            head: string;
            problems: string[];
            checkpoint: components["schemas"]["SignedHead"] | null;
        };
        /** @description A version of a memory, with its commit. */
        Version: {
            version: number;
            event: string;
            actor: string;
            reason: string;
            /** Format: date-time */
            created_at: string;
            text: string | null;
            status: string | null;
            state: {
                [key: string]: unknown;
            };
            commit: components["schemas"]["LedgerCommit"] | null;
        };
        /** @description The agent, user and app that the rules were evaluated for. */
        Visibility: {
            agent_id: string | null;
            user_id: string | null;
            app_id: string | null;
        };
        /**
         * @description * `conversation` - this conversation
         *     * `user` - this user
         *     * `account` - everyone
         * @enum {string}
         */
        VisibilityEnum: "conversation" | "user" | "account";
        /** @description The effect that a shadow rule would have had on a decision. */
        WatcherShown: {
            /** Format: uuid */
            rule_node_id: string;
            matched: boolean;
            changed: boolean;
            after: {
                [key: string]: unknown;
            };
        };
        /** @description A webhook. `secret` is present when it is created, and never again. */
        WebhookAnswer: {
            warnings?: components["schemas"]["FieldWarning"][];
            /** Format: uuid */
            id: string;
            name: string;
            url: string;
            event_types: string[];
            payload_format: string;
            is_active: boolean;
            created_by: string;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            last_attempt_at: string | null;
            last_error: string | null;
            secret?: string;
        };
        /** @description New values. Fields that are left out keep theirs. */
        WebhookChanges: {
            name?: string;
            url?: string;
            event_types?: components["schemas"]["EventTypesEnum"][];
            is_active?: boolean;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description A webhook. */
        WebhookInput: {
            name: string;
            url: string;
            event_types: components["schemas"]["EventTypesEnum"][];
            /** @default kmapp */
            payload_format?: components["schemas"]["PayloadFormatEnum"];
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description All webhooks of the account, newest first. */
        WebhooksAnswer: {
            results: components["schemas"]["WebhookAnswer"][];
        };
        /** @description A completed task. */
        WorthInput: {
            user_id?: string | null;
            agent_id?: string | null;
            app_id?: string | null;
            run_id?: string | null;
            scope?: string | null;
            metadata?: {
                [key: string]: components["schemas"]["JSON"];
            } | null;
            /** @description Time of the message. Default: now. */
            observed_at?: string | null;
            task_goal: string;
            task_result: string;
            execution_log?: string | null;
        } & {
            [key: string]: components["schemas"]["JSON"];
        };
        /** @description The result of a write. The commit is null if nothing changed. */
        WriteAnswer: {
            warnings?: components["schemas"]["FieldWarning"][];
            /** Format: uuid */
            tenant_id: string;
            scope: string;
            commit_id: string | null;
            commit_uri: string | null;
            commit_hash: string | null;
            nodes: components["schemas"]["WrittenNode"][];
            edges: components["schemas"]["WrittenEdge"][];
            embedding_backfill?: components["schemas"]["Backfill"];
        };
        /** @description A batch of memories and edges; all of it is written, or nothing. */
        WriteInput: ({
            /** @description Default for every node without its own value. */
            user_id?: string | null;
            /** @description Default for every node without its own value. */
            agent_id?: string | null;
            /** @description Default for every node without its own value. */
            app_id?: string | null;
            /** @description Default for every node without its own value. */
            run_id?: string | null;
            scope?: string | null;
            /**
             * @description Default for every node without its own value.
             *
             *     * `conversation` - this conversation
             *     * `user` - this user
             *     * `account` - everyone
             */
            visibility?: components["schemas"]["VisibilityEnum"] | components["schemas"]["NullEnum"];
            /** @description Accepted for compatibility and ignored; the key identifies the writer. */
            actor?: string | null;
            input_text?: string | null;
            input_sha256?: string | null;
            /** @default true */
            auto_embed?: boolean | null;
            /** @default false */
            force_reembed?: boolean | null;
            /**
             * @description Whether identical texts are stored once.
             * @default false
             */
            dedupe?: boolean | null;
            /**
             * @description private: memories without IDs are visible to the owner only.
             *
             *     * `private` - private
             *     * `shared` - shared
             */
            memory_lane?: components["schemas"]["MemoryLaneEnum"] | components["schemas"]["NullEnum"];
            owner_agent_id?: string | null;
            nodes?: components["schemas"]["NodeInput"][] | null;
            edges?: components["schemas"]["EdgeInput"][] | null;
        } & {
            [key: string]: components["schemas"]["JSON"];
        }) | {
            nodes: string | unknown[] | Record<string, never>;
        } | {
            edges: string | unknown[] | Record<string, never>;
        };
        /** @description An edge of a batch, in the order of the request. */
        WrittenEdge: {
            /** Format: uuid */
            id: string;
            uri: string;
            type: string;
            /** Format: uuid */
            src_id: string;
            /** Format: uuid */
            dst_id: string;
        };
        /** @description A memory of a batch, in the order of the request. */
        WrittenNode: {
            /** Format: uuid */
            id: string;
            uri: string;
            client_id: string | null;
            type: string;
            status: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    agent_tools_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AgentToolsAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    checkpoints_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckpointsAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    checkpoints: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CheckpointsInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CheckpointsAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    context_assemble: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AssembleInput"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AssembledCall"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    context_comparisons_get: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ComparisonPage"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    context_comparisons: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ComparisonInput"];
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ComparisonBrief"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    context_comparisons_id_get: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Comparison"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    context_comparisons_id_calls_get: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
                /**
                 * @description * `all` - all
                 *     * `changed` - changed
                 *     * `losing_evidence` - losing_evidence
                 *     * `no_longer_fitting` - no_longer_fitting
                 *     * `newly_fitting` - newly_fitting
                 *     * `larger` - larger
                 */
                show?: "all" | "changed" | "losing_evidence" | "no_longer_fitting" | "newly_fitting" | "larger";
            };
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DifferencePage"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    context_costs_get: {
        parameters: {
            query?: {
                agent_id?: string | null;
                /**
                 * @description * `section` - section
                 *     * `session` - session
                 *     * `agent` - agent
                 *     * `tool` - tool
                 *     * `model` - model
                 *     * `variant` - variant
                 */
                by?: "section" | "session" | "agent" | "tool" | "model" | "variant";
                days?: number;
                limit?: number;
                model?: string;
                offset?: number;
            };
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Costs"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    context_load_tool_get: {
        parameters: {
            query?: {
                /**
                 * @description * `en` - English
                 *     * `zh` - Chinese
                 */
                language?: "en" | "zh" | null;
            };
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ToolAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    context_prepare: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["PrepareInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PreparedAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    context_reports_get: {
        parameters: {
            query?: {
                /** @description An action among the decisions. */
                action?: string | null;
                agent_id?: string | null;
                /** @description The last ID of the previous page. */
                before?: string | null;
                conversation_id?: string | null;
                limit?: number | null;
                model?: string | null;
                thread_id?: string | null;
                user_id?: string | null;
                variant?: string | null;
            };
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReportPage"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    context_reports_id_get: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Report"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    context_reports_id_outcome: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["OutcomeInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Report"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    context_reports_id_replay: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReplayInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Replayed"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    context_restore: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MessagesInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PreparedAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    context_settings_get: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CallSettings"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    context_settings: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["SettingsInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CallSettings"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    context_variants_get: {
        parameters: {
            query?: {
                agent_id?: string | null;
                days?: number;
                model?: string;
            };
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VariantResults"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    events_id_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventShown"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    knowledge_documents_id_get: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DocumentAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    knowledge_documents_id_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErasedAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    knowledge_get: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GetInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["QuotedAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    knowledge_ingest: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["IngestInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IngestAnswer"];
                };
            };
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["IngestAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    knowledge_lorebook_evaluate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LoreInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoreAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    knowledge_search: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["KnowledgeSearchInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KnowledgeSearchAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    knowledge_sources_get: {
        parameters: {
            query?: {
                /** @description The `next` of the previous page. */
                after?: string;
                limit?: number;
            };
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SourcesAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    knowledge_sources: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SourceInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SourceAnswer"];
                };
            };
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SourceAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    knowledge_sources_id_get: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SourceAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    knowledge_sources_id_delete: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ErasedAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_id_history_get: {
        parameters: {
            query?: {
                /** @description The last number you have. */
                after?: number | null;
                agent_id?: string | null;
                app_id?: string | null;
                limit?: number | null;
                run_id?: string | null;
                scope?: string | null;
                user_id?: string | null;
            };
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistoryAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_add: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AddInput"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AddAnswer"];
                };
            };
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AddAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_commits_get: {
        parameters: {
            query?: {
                /** @description The last number you have. */
                after?: number;
                limit?: number;
            };
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CommitsAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_erase: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EraseInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Erasure"] | components["schemas"]["ErasureCount"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_feedback: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["FeedbackInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Rating"];
                };
            };
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Rating"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_forget: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ForgetInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Memory"] | components["schemas"]["ForgettingCount"] | components["schemas"]["Forgetting"];
                };
            };
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Forgetting"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_get: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Cited"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MemoryWithVector"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_inject: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InjectInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InjectAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_judgements_get: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
            };
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JudgementsAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_judgements: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JudgementsInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JudgedAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_list: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ListInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ListAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_rankings_get: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RankingsAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_rankings: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RankingAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_rankings_id_get: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RankingAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_rankings_id_patch: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StatusInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RankingAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_rankings_id_comparisons_get: {
        parameters: {
            query?: {
                limit?: number;
                offset?: number;
                /**
                 * @description * `held_out` - Held out
                 *     * `learned_on` - Learned from
                 *     * `shadow` - Asked by an agent
                 */
                origin?: "held_out" | "learned_on" | "shadow";
            };
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ComparisonsAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_recall: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RecallInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecallAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_recall_text: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RecallTextInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RecallTextAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_rules_evaluate: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EvaluateInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EvaluateAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_rules_state: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StateInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_search: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SearchInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SearchAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_store: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StoreInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoreAnswer"];
                };
            };
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StoreAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_store_if_worthwhile: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WorthInput"];
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AddAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_tools_decision: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["DecisionInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DecisionAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_tools_feedback: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ToolFeedbackInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FeedbackAnswer"];
                };
            };
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FeedbackAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_tools_run: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RunInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_tools_select: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SelectInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SelectAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_update: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UpdateInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Memory"];
                };
            };
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Proposal"] | components["schemas"]["AddAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_verify_get: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["VerifyAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    memory_write: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WriteInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WriteAnswer"];
                };
            };
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WriteAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    rules_get: {
        parameters: {
            query?: {
                /** @description The `next` of the previous page. */
                after?: string;
                limit?: number;
                scope?: string;
                /**
                 * @description * `draft` - Draft
                 *     * `shadow` - Shadow
                 *     * `active` - Active
                 *     * `disabled` - Disabled
                 */
                state?: "draft" | "shadow" | "active" | "disabled";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RulesAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    rules: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RuleInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RuleShown"];
                };
            };
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RuleShown"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    rules_id_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RuleShown"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    rules_id_delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RuleShown"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    rules_id_patch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RuleChange"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RuleShown"];
                };
            };
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RuleShown"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    rules_id_backtest_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BacktestShown"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    rules_id_backtest: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["BacktestInput"];
            };
        };
        responses: {
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BacktestShown"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    rules_id_evidence_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EvidenceAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    rules_id_feedback: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RuleVerdict"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FeedbackAnswer"];
                };
            };
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FeedbackAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    rules_id_rollback: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["Undoing"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StateAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    rules_gate_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GateShown"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    rules_gate_patch: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["GateChange"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["GateShown"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    rules_schemas_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        [key: string]: unknown;
                    };
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    tool_results_get: {
        parameters: {
            query?: {
                agent_id?: string | null;
                /** @description The last id of the previous page. */
                before?: string | null;
                conversation_id?: string | null;
                limit?: number | null;
                thread_id?: string | null;
                tool_name?: string | null;
                user_id?: string | null;
            };
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArchivePage"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    tool_results: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResultInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Processed"];
                };
            };
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Processed"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    tool_results_id_get: {
        parameters: {
            query?: {
                agent_id?: string | null;
                conversation_id?: string | null;
                end?: number | null;
                max_tokens?: number | null;
                query?: string | null;
                start?: number | null;
                thread_id?: string | null;
                user_id?: string | null;
            };
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Loaded"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    tool_results_load: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LoadCallInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Loaded"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    tool_results_search: {
        parameters: {
            query?: never;
            header?: {
                /** @description Which versions of index and ranking answer. The answer names its own. */
                "X-KM-Variant"?: "v1" | "v2" | "v3" | "v4";
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResultsSearchInput"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ArchivesFound"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    webhooks_get: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhooksAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    webhooks: {
        parameters: {
            query?: never;
            header?: {
                /** @description Makes retries safe: the first response is stored for 24 hours. A few requests run again instead, with the same effect. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookInput"];
            };
        };
        responses: {
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    webhooks_id_get: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The address is longer than 8,190 bytes. */
            414: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    webhooks_id_delete: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeletedAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    webhooks_id_patch: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["WebhookChanges"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookAnswer"];
                };
            };
            /** @description Invalid request; `issues` lists the invalid fields. */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description No API key, or none that is valid. */
            401: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description The key lacks the scope, or the body names another account. */
            403: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Too many requests. Retry after `Retry-After` seconds. */
            429: {
                headers: {
                    /** @description Seconds. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
            /** @description Any other refusal, in the same shape. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
}
