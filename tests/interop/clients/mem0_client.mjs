// The operations of mem0's client for Node; prints what each returned.

import { createRequire } from "node:module";

const [url, key, packages] = process.argv.slice(2);
const { MemoryClient } = createRequire(`${packages}/package.json`)("mem0ai");
const client = new MemoryClient({ apiKey: key, host: url });
const ann = { filters: { user_id: "ann" } };
const seen = {};

const failure = async (call) => {
  try {
    await call;
  } catch (error) {
    return error.message;
  }
};

await client.ping();
const messages = [{ role: "user", content: "Ann is allergic to peanuts." }];
seen.add = await client.add(messages, { userId: "ann", infer: false });
seen.inferred = await client.add([{ role: "user", content: "I play the cello." }], { userId: "ann" });
const id = seen.add.results[0].id;
seen.search = await client.search("peanuts", { ...ann, topK: 1 });
seen.getAll = await client.getAll({ ...ann, page: 1, pageSize: 1 });
seen.get = await client.get(id);
seen.update = await client.update(id, { text: "Ann may eat no nuts at all." });
seen.history = await client.history(id);
seen.batch = await client.batchUpdate([{ memoryId: id, text: "Ann may eat no nuts." }]);
seen.feedback = await client.feedback({ memoryId: id, feedback: "POSITIVE" });
seen.users = await client.users();
seen.project = await client.getProject({ fields: ["custom_instructions"] });
seen.exported = await client.createMemoryExport({ schema: { properties: {} }, ...ann });
const hook = { name: "Log", url: "https://hooks.test/in", eventTypes: ["memory_add"] };
const { webhookId } = await client.createWebhook(hook);
await client.updateWebhook({ webhookId, name: "Logger" });
seen.webhooks = await client.getWebhooks();
await client.deleteWebhook({ webhookId });
seen.missing = await failure(client.get("00000000-0000-4000-8000-000000000000"));
seen.delete = await client.delete(id);
seen.deleteAll = await client.deleteAll({ userId: "ann" });
seen.after = await client.getAll(ann);
console.log(JSON.stringify(seen));
