import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cleanEnvironment, ROOT } from '@recourse/test-support/start-process.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

// Clients that others make from the served document: written, compiled under strict, and used, as their users would.

const LIMIT = { timeout: timeLimit(60_000) };
const OPENAPI_TYPESCRIPT = join(ROOT, 'clients/typescript/node_modules/openapi-typescript/bin/cli.js');
const KEY = 'key-of-a-generated-client';
const API_KEYS = `acme=${createHash('sha256').update(KEY).digest('hex')}`;

const CALLS = `{
  session_id: 'generated',
  calls: [
    { id: 'good', name: 'echo', arguments: { text: 'hello' } },
    { id: 'bad', name: 'echo', arguments: {} },
  ],
}`;

// The same for both: what came of the calls, and the answer to a wrong key.
const PRINT = `
if (good.data === undefined || !('request_id' in good.data)) throw new Error(good.error?.detail ?? 'no results');
for (const result of good.data.results) {
  // A pending result has no error, and openapi-typescript leaves out members that are always null.
  if (result.outcome === 'pending') throw new Error(result.message);
  console.log(result.success ? result.value : \`\${result.outcome}: \${result.error?.code}\`);
}
console.log(bad.error?.code, bad.data);
`;

const PROGRAMS = {
  'openapi-typescript': `import createClient from 'openapi-fetch';
import type { paths } from './api.js';
const [, , baseUrl = '', key = ''] = process.argv;
const client = createClient<paths>({ baseUrl });
const good = await client.POST('/tool-calls', { headers: { Authorization: \`Bearer \${key}\` }, body: ${CALLS} });
const bad = await client.GET('/tools', { headers: { 'X-API-Key': 'wrong' } });
${PRINT}`,
  'openapi-ts': `import { createClient } from './hey/client/index.js';
import { executeToolCalls, listTools } from './hey/index.js';
const [, , baseUrl = '', key = ''] = process.argv;
const good = await executeToolCalls({ client: createClient({ baseUrl, auth: key }), body: ${CALLS} });
const bad = await listTools({ client: createClient({ baseUrl, auth: 'wrong' }) });
${PRINT}`,
} as const;

const COMPILER_OPTIONS = {
  ...{ strict: true, noUncheckedIndexedAccess: true, verbatimModuleSyntax: true },
  ...{ module: 'nodenext', target: 'es2024', lib: ['es2024', 'dom', 'dom.iterable'], types: ['node'], outDir: 'out' },
};

let service: RunningService;
let folder: string;

const run = async (...words: readonly string[]): Promise<string> => {
  const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: folder, env: cleanEnvironment({}) });
  return stdout;
};

beforeAll(async () => {
  service = await startService({ API_KEYS });
  const cache = join(ROOT, 'node_modules/.cache/recourse');
  mkdirSync(cache, { recursive: true });
  // Below the packages that the programs use.
  folder = mkdtempSync(join(cache, 'generated-clients-'));
  const document = `${service.url}/openapi.json`;
  await Promise.all([
    run(OPENAPI_TYPESCRIPT, document, '-o', join(folder, 'api.d.ts')),
    run(join(import.meta.dirname, 'run-openapi-ts.ts'), document, join(folder, 'hey')),
  ]);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: COMPILER_OPTIONS }));
  for (const [name, program] of Object.entries(PROGRAMS)) writeFileSync(join(folder, `${name}.ts`), program);
  const compiled = await run(join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', folder).catch(({ stdout }) => stdout);
  expect(compiled).toBe('');
}, LIMIT.timeout);

afterAll(async () => {
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
});

test.for(Object.keys(PROGRAMS))('a client of %s shows a key, and gets results and problems', LIMIT, async (name) => {
  expect(await run(join(folder, 'out', `${name}.js`), service.url, KEY)).toBe(
    "{ text: 'hello' }\nretry: invalid_arguments\nunauthorized undefined\n",
  );
});
