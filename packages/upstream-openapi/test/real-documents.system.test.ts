import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startStandIn } from '@recourse/test-support/openapi-stand-in.ts';
import { toSampleArguments } from '@recourse/test-support/openapi-stand-in-arguments.ts';
import { isJson, type Json } from '@recourse/test-support/openapi-stand-in-schemas.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import type { InlineTool } from 'recourse-server/internal/tools/tool.ts';
import { beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { callTool, startImport, toBareValue } from './import-lab.ts';

const ROOT = join(import.meta.dirname, '../../..');
const GITHUB = 'node_modules/.cache/recourse/openapi/api.github.com-23.0.2.json';

// Silent where the document is there already.
beforeAll(() => {
  execFileSync('sh', [join(ROOT, 'scripts/ensure-openapi-documents.sh')], { stdio: ['ignore', 'inherit', 'inherit'] });
}, timeLimit(120_000));

const readDocument = (path: string): { readonly text: string; readonly json: Json } => {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const json: unknown = path.endsWith('.json') ? JSON.parse(text) : parse(text);
  if (!isJson(json)) throw new Error(`${path} is no object.`);
  return { text, json };
};

/** The fullest arguments that the schema takes. */
const toFitting = async (tool: InlineTool): Promise<Json> => {
  for (const extent of ['all', 'required'] as const) {
    const sample = toSampleArguments(tool.inputSchema, extent);
    if ((await tool.prepare(sample)).ok) return sample;
  }
  throw new Error(`No arguments were found for ${tool.name}.`);
};

test.each([
  {
    name: "Figma's, YAML, 3.1",
    path: 'node_modules/@figma/rest-api-spec/openapi/openapi.yaml',
    basePath: '',
    expected: { operations: 54, imported: 54, unavailable: [] as readonly string[] },
  },
  {
    name: "ReadMe's, JSON, 3.1",
    path: 'node_modules/@readme/oas-examples/3.1/json/readme.json',
    basePath: '/v2',
    expected: { operations: 54, imported: 54, unavailable: [] as readonly string[] },
  },
  {
    name: "GitHub's, JSON, 3.0, 13 MB",
    path: GITHUB,
    basePath: '',
    expected: {
      operations: 1_223,
      imported: 1_222,
      unavailable: [
        'repos_upload-release-asset: It is on another server (https://uploads.github.com): add that to servers to allow it.',
      ],
    },
  },
])(
  'every tool of a published document does what the document says: $name',
  { timeout: timeLimit(120_000) },
  async (row) => {
    const { text, json } = readDocument(row.path);
    const standIn = await startStandIn(json, row.basePath);
    const { offer, source } = await startImport(text, { baseUrl: standIn.baseUrl, maxResponseBytes: 8_388_608 });
    expect(source.state()).toMatchObject({ status: 'up', reason: null });
    const { tools, unavailable } = offer();
    expect({
      operations: tools.length + unavailable.length,
      imported: tools.length,
      unavailable: unavailable.map(({ facts, reason }) => `${facts.name}: ${reason}`),
    }).toEqual(row.expected);

    const misfits: unknown[] = [];
    for (const tool of tools) {
      if (tool.runsIn !== 'service') continue;
      const input = await toFitting(tool);
      const value = await callTool(tool, input).then(toBareValue, (thrown: unknown) => thrown);
      const judged = standIn.judged.at(-1);
      const label = tool.source.replace(/^openapi:api /, '');
      const isAnswer = judged !== undefined && isSame(value, judged.answer);
      if (judged?.operation !== label || judged.faults.length > 0 || !isAnswer)
        misfits.push({
          label,
          operation: judged?.operation,
          faults: judged?.faults,
          path: judged?.request.path,
          input,
          value: String(value),
        });
    }
    expect({ called: standIn.judged.length, misfits }).toEqual({ called: row.expected.imported, misfits: [] });
  },
);

/** Whether a value is what the stand-in answered. */
const isSame = (
  value: unknown,
  {
    status,
    headers,
    body,
  }: { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string },
): boolean => {
  if (status >= 300) return isJson(value) && value['status'] === status;
  if (body === '') return value === null;
  if (/json/.test(headers['content-type'] ?? '')) return JSON.stringify(value) === JSON.stringify(JSON.parse(body));
  return isJson(value) && (value['text'] === body || value['text'] === null);
};
