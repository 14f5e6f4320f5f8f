import { toKeyEntry } from '@recourse/test-support/access-client.ts';
import { expectProblem } from '@recourse/test-support/check-answer.ts';
import { toolThat } from '@recourse/test-support/misbehaving-tools.ts';
import { startProcess } from '@recourse/test-support/start-process.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { makeDirectory } from '@recourse/test-support/temporary-directory.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';

let service: RunningService;

const SECRET = 'sk-not-to-be-shown-7f3a';

beforeAll(async () => {
  const API_KEYS = `${toKeyEntry('acme', 'full')},${toKeyEntry('acme', 'some', 'tools=echo|billing.*')}`;
  const told = toolThat('billing.find', () => 1, { description: `Asks with ${SECRET}.` });
  service = await startService({ API_KEYS, BILLING_TOKEN: SECRET }, [told]);
});

afterAll(() => service.stop());

const get = async (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') => {
  const answer = await fetch(`${service.url}${path}`, { method, headers: { 'x-api-key': 'full', ...headers } });
  return { status: answer.status, headers: new Map(answer.headers), body: await answer.text() };
};

const Tools = z.object({ tools: z.array(z.looseObject({})) });
const toolsOf = ({ body }: { readonly body: string }) => Tools.parse(JSON.parse(body)).tools;

const FORMATS = ['native', 'openai-chat', 'openai-responses', 'anthropic', 'gemini', 'mcp'] as const;
const PROVIDERS = FORMATS.slice(1);

test.each(FORMATS)('%s: the catalogue has a tag of its own, and is not sent again to who has it', async (format) => {
  const first = await get(`/tools?format=${format}`);
  expect([first.status, first.headers.get('content-type'), first.headers.get('cache-control')]).toEqual([
    200,
    'application/json; charset=utf-8',
    'private, no-cache',
  ]);
  const tag = first.headers.get('etag') ?? '';
  expect(tag).toMatch(/^"[A-Za-z0-9_-]{43}"$/);
  expect((await get(`/tools?format=${format}`)).headers.get('etag')).toBe(tag);
  for (const known of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
    const again = await get(`/tools?format=${format}`, { 'if-none-match': known });
    expect([again.status, again.body, again.headers.get('etag'), again.headers.get('cache-control')]).toEqual([
      304,
      '',
      tag,
      'private, no-cache',
    ]);
  }
  expect((await get(`/tools?format=${format}`, { 'if-none-match': '"other"' })).status).toBe(200);
  const head = await get(`/tools?format=${format}`, {}, 'HEAD');
  expect([head.status, head.body, head.headers.get('etag')]).toEqual([200, '', tag]);
});

test('each format, each style and each key has another tag', async () => {
  const paths = [...FORMATS.map((format) => `/tools?format=${format}`), '/tools?format=openai-chat&strict=true'];
  const tags = await Promise.all(
    paths.flatMap((path) =>
      ['full', 'some'].map(async (key) => (await get(path, { 'x-api-key': key })).headers.get('etag')),
    ),
  );
  expect(new Set(tags).size).toBe(14);
});

test('without a format it is native, as ever', async () => {
  const [plain, native] = [await get('/tools'), await get('/tools?format=native')];
  expect(plain.body).toBe(native.body);
  expect(toolsOf(plain).map(({ name }) => name)).toContain('billing.find');
});

test.each(PROVIDERS)('%s: a key is told of the tools it may use, and of no secret', async (format) => {
  const { body } = await get(`/tools?format=${format}`, { 'x-api-key': 'some' });
  const names = [...body.matchAll(/"name":"([^"]+)"/g)].map(([, name]) => name);
  expect(names).toEqual([format === 'mcp' ? 'billing.find' : 'billing_find', 'echo']);
});

test.each(FORMATS)('%s: what a tool says of itself is redacted', async (format) => {
  const { body } = await get(`/tools/billing.find?format=${format}`);
  expect(body).toContain('Asks with ');
  expect(body).not.toContain(SECRET);
});

test('one tool comes as it goes into a request, alone', async () => {
  const one = await get('/tools/echo?format=openai-responses&strict=true');
  expect(JSON.parse(one.body)).toEqual({
    tools: [
      {
        type: 'function',
        name: 'echo',
        description: expect.any(String),
        parameters: {
          type: 'object',
          properties: { text: expect.objectContaining({ type: 'string' }) },
          required: ['text'],
          additionalProperties: false,
        },
        strict: true,
      },
    ],
  });
  expect(one.headers.get('etag')).toMatch(/^"/);
  expect(JSON.parse((await get('/tools/echo')).body)).toMatchObject({ name: 'echo', available: true });
  expect((await get('/tools/echo', { 'if-none-match': '*' })).status).toBe(304);
  expect((await get('/tools/echo?format=anthropic', { 'x-api-key': 'some' })).status).toBe(200);
  expect((await get('/tools/read_file?format=anthropic', { 'x-api-key': 'some' })).status).toBe(404);
});

test.each(['?format=openapi-3', '?format=', '?format=text', '?format=mcp&format=mcp', '?format=__proto__'])(
  'an unknown format is refused with the list: %s',
  async (query) => {
    const detail =
      'format must be one of native, openai-chat, openai-responses, openai-realtime, anthropic, gemini, bedrock, mistral, cohere, ollama, ai-sdk, mcp.';
    const expected = { status: 400, title: 'Bad Request', code: 'unknown_format', detail };
    expectProblem(await get(`/tools${query}`), expected);
    expectProblem(await get(`/tools/echo${query}`), expected);
  },
);

test.each(['?strict=1', '?strict=', '?strict=true&strict=true'])(
  'strict is true or false, and not %s',
  async (query) => {
    const detail = 'strict must be true or false.';
    expectProblem(await get(`/tools${query}`), { status: 400, title: 'Bad Request', code: 'bad_request', detail });
  },
);

const namesOf = (body: string): readonly unknown[] => [...body.matchAll(/"name":"([^"]+)"/g)].map(([, name]) => name);

test.each([
  ['echo', ['echo']],
  ['read_*|echo', ['echo', 'read_file']],
  ['billing.*', ['billing.find']],
  ['none|Echo|file*', []],
])('names=%s narrows the catalogue, in every format', async (names, expected) => {
  const query = encodeURIComponent(names);
  for (const format of FORMATS) {
    const portable = expected.map((name) => (format === 'native' || format === 'mcp' ? name : name.replace('.', '_')));
    const answer = await get(`/tools?format=${format}&names=${query}`);
    expect([answer.status, namesOf(answer.body)]).toEqual([200, portable]);
    expect(answer.headers.get('etag')).not.toBe((await get(`/tools?format=${format}`)).headers.get('etag'));
    const known = { 'if-none-match': answer.headers.get('etag') ?? '' };
    expect((await get(`/tools?format=${format}&names=${query}`, known)).status).toBe(304);
  }
});

test('names=* is the whole catalogue, and nobody sees by it what the key may not use', async () => {
  expect((await get('/tools?names=*')).body).toBe((await get('/tools')).body);
  const { body } = await get('/tools?names=read_*|echo', { 'x-api-key': 'some' });
  expect(namesOf(body)).toEqual(['echo']);
});

test('one tool by its path asks for no names', async () => {
  expect((await get('/tools/echo?names=read_file')).status).toBe(200);
});

test.each(['?names=', '?names=echo|', '?names=*_file', '?names=echo,read_file', '?names=a&names=b', '?names=%00'])(
  'names that are none are refused: %s',
  async (query) => {
    const detail = 'names must be tool names, or prefixes that end with * (github_*), separated by |.';
    expectProblem(await get(`/tools${query}`), { status: 400, title: 'Bad Request', code: 'bad_request', detail });
  },
);

test('a tool that is not available is shown to people alone', async () => {
  const { root } = makeDirectory({ 'gone.ts': 'throw new Error("broken");' });
  const other = await startProcess({ by: 'node', environment: { TOOLS_DIR: root } });
  const ask = async (path: string) => (await fetch(`${other.url}${path}`)).text();
  expect(await ask('/tools')).toContain('"gone"');
  for (const format of PROVIDERS) expect(await ask(`/tools?format=${format}`)).not.toContain('gone');
  expect(JSON.parse(await ask('/tools/gone?format=anthropic'))).toMatchObject({
    status: 404,
    detail: 'The tool is not available now. Request it without format to see why.',
  });
});
