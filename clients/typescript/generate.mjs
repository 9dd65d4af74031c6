// Write src/schema.ts: node generate.mjs http://localhost:8000/v1/schema [FILE]

import { writeFile } from "node:fs/promises";

import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const [schema, file = "src/schema.ts"] = process.argv.slice(2);
// Any JSON is a schema that contains itself, which TypeScript cannot express as a property.
const ANY = ts.factory.createKeywordTypeNode(ts.SyntaxKind.UnknownKeyword);
const types = await openapiTS(new URL(schema, "file:"), {
  defaultNonNullable: false, // a field with a default may be left out of a request
  transform: (_, { path }) => (path?.endsWith("/schemas/JSON") ? ANY : undefined),
});
await writeFile(file, astToString(types));
