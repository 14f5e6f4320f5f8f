import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { SessionView } from '#src/contract/session.ts';
import { Problem, ToolCallsResponse } from '#src/contract/tool-result.ts';

const ROOT = join(import.meta.dirname, '../..');
const EXAMPLES = join(ROOT, 'openapi/examples');

// Each with the HTTP status it is about and what its body is: a file that is missing here, or a name without a file,
// fails below.
const EXPECTED = {
  'budget-exhausted.json': [200, ToolCallsResponse],
  'failure-with-suggestion.json': [200, ToolCallsResponse],
  'idempotency-key-reused.json': [422, Problem],
  'idempotent-replay.json': [200, ToolCallsResponse],
  'invalid-arguments.json': [200, ToolCallsResponse],
  'invalid-session-id.json': [400, Problem],
  'kept-results.json': [200, ToolCallsResponse],
  'mixed-batch.json': [200, ToolCallsResponse],
  'nothing-found.json': [200, ToolCallsResponse],
  'problem.json': [400, Problem],
  'result-not-kept.json': [404, Problem],
  'session-budgets-reset.json': [204, z.null()],
  'session-ended.json': [204, z.null()],
  'session-never-seen.json': [200, SessionView],
  'session-tool-reset.json': [204, z.null()],
  'session.json': [200, SessionView],
  'success.json': [200, ToolCallsResponse],
  'unknown-tool.json': [200, ToolCallsResponse],
} as const;

const Example = z.strictObject({
  about: z.string().min(1),
  /** Batches that were posted before this request, and what their headers said. */
  earlier: z.array(z.unknown()).default([]),
  earlier_headers: z.record(z.string(), z.string()).default({}),
  headers: z.record(z.string(), z.string()).default({}),
  method: z.enum(['GET', 'POST', 'DELETE']).default('POST'),
  path: z.string().default('/tool-calls'),
  /** The body of a POST. */
  request: z.unknown().optional(),
  response: z.strictObject({ status: z.int(), content_type: z.string(), body: z.unknown() }),
});
type Example = z.infer<typeof Example>;

let service: RunningService;

beforeAll(async () => {
  service = await startService();
});

afterAll(() => service.stop());

type Asked = Pick<Example, 'method' | 'path' | 'request'> & { readonly headers: Readonly<Record<string, string>> };

const ask = async ({ method, path, request, headers }: Asked): Promise<Example['response']> => {
  const answer = await fetch(`${service.url}${path}`, {
    method,
    ...(method === 'POST'
      ? { headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(request) }
      : {}),
  });
  const text = await answer.text();
  return {
    status: answer.status,
    content_type: answer.headers.get('content-type') ?? '',
    body: text === '' ? null : JSON.parse(text),
  };
};

const readExample = (file: string): Example => Example.parse(JSON.parse(readFileSync(join(EXAMPLES, file), 'utf8')));

// What differs from one answer to the next, once it has been seen to look right; and the tools, which are a deployer's own.
const VARYING: ReadonlyMap<string, readonly [RegExp, string]> = new Map([
  ['request_id', [/^[0-9A-HJKMNP-TV-Z]{26}$/, 'ULID']],
  ['reference', [/^[0-9A-HJKMNP-TV-Z]{26}$/, 'ULID']],
  ['digest', [/^sha256:[0-9a-f]{64}$/, 'DIGEST']],
  ['duration_ms', [/^\d+(\.\d+)?$/, 'DURATION']],
  ['time', [/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, 'TIME']],
  ['message', [/(?<=Available tools: )[\w, ]+\./, '….']],
]);

const normaliseMember = (key: string, value: unknown): unknown => {
  const [pattern, instead] = VARYING.get(key) ?? [];
  if (pattern === undefined || instead === undefined || !pattern.test(String(value))) return value;
  return String(value).replace(pattern, instead);
};

const normalise = (body: unknown): unknown => JSON.parse(JSON.stringify(body, normaliseMember));

test('every example is about a status, and every file of them is tried', () => {
  expect(
    globSync('**', { cwd: EXAMPLES, exclude: ['formats', 'formats/**'] })
      .filter((path) => path !== '.')
      .sort(),
  ).toEqual(Object.keys(EXPECTED));
});

test.for(Object.entries(EXPECTED))('%s: the service answers as the example says', async ([file, [status, schema]]) => {
  const { earlier, earlier_headers: before, response, ...asked } = readExample(file);
  for (const request of earlier)
    expect((await ask({ method: 'POST', path: '/tool-calls', request, headers: before })).status).toBe(200);
  const answer = await ask(asked);
  expect(normalise(answer)).toEqual(normalise(response));
  expect(answer.status).toBe(status);
  expect(schema.safeParse(answer.body).error).toBeUndefined();
});

// What the document shows is what a file says, or what a request is answered; `/` and `~` of a path as RFC 6901 has them.
const SHOWN = {
  'session.json': '/~1sessions~1{id}/get/responses/200/content/application~1json',
  'invalid-session-id.json': '/~1sessions~1{id}/get/responses/400/content/application~1problem+json',
  'kept-results.json': '/~1tool-calls~1{request_id}/get/responses/200/content/application~1json',
  'result-not-kept.json': '/~1tool-calls~1{request_id}/get/responses/404/content/application~1problem+json',
  'problem.json': '/~1tool-calls/post/responses/400/content/application~1problem+json',
  'idempotency-key-reused.json': '/~1tool-calls/post/responses/422/content/application~1problem+json',
} as const;

const lookUp = (document: unknown, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/'))
    .reduce<unknown>(
      (part, step) => (typeof part === 'object' && part !== null ? Reflect.get(part, step) : undefined),
      document,
    );

const readPaths = async (): Promise<unknown> =>
  z.object({ paths: z.unknown() }).parse(await (await fetch(`${service.url}/openapi.json`)).json()).paths;

test.for(Object.entries(SHOWN))('the document shows what %s says', async ([file, pointer]) => {
  const shown = lookUp(await readPaths(), `${pointer}/example`);
  expect(normalise(shown)).toEqual(normalise(readExample(file).response.body));
});

const Examples = z.record(z.string(), z.object({ value: z.unknown() }));

test('the document shows what the service answers to the batches, the tool and the probe that it shows', async () => {
  const paths = await readPaths();
  const requests = Examples.parse(lookUp(paths, '/~1tool-calls/post/requestBody/content/application~1json/examples'));
  const answers = Examples.parse(lookUp(paths, '/~1tool-calls/post/responses/200/content/application~1json/examples'));
  expect(Object.keys(requests)).toEqual(['success', 'failure', 'dry_run', 'message']);
  for (const [name, { value }] of Object.entries(requests)) {
    const { body } = await ask({ method: 'POST', path: '/tool-calls', request: value, headers: {} });
    expect(normalise(body), name).toEqual(normalise(answers[name]?.value));
  }
  const ofGet = '/get/responses/200/content/application~1json/example';
  // What makes the document leaves `$schema` out wherever it stands.
  const get = async (path: string): Promise<unknown> => {
    const { body } = await ask({ method: 'GET', path, request: null, headers: {} });
    return JSON.parse(JSON.stringify(body), (key, value: unknown) => (key === '$schema' ? undefined : value));
  };
  expect(await get('/tools/echo')).toEqual(lookUp(paths, `/~1tools~1{name}${ofGet}`));
  expect(await get('/tools?names=echo')).toEqual(lookUp(paths, `/~1tools${ofGet}`));
  expect(await get('/live')).toEqual(lookUp(paths, `/~1live${ofGet}`));
});
