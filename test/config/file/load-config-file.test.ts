// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of the file are written so.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { contentOf, mistakesOf } from './config-file-lab.ts';

test('the JSON that people have for other MCP hosts is read as it is, tabs and members of those hosts included', () => {
  const { upstreams } = contentOf(
    [
      '{',
      '\t"mcpServers": {',
      '\t\t"filesystem": {',
      '\t\t\t"command": "npx",',
      '\t\t\t"args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/me/Desktop"],',
      '\t\t\t"env": { "LOG_LEVEL": "debug" },',
      '\t\t\t"disabled": false,',
      '\t\t\t"autoApprove": ["read_file"]',
      '\t\t},',
      '\t\t"remote": { "type": "http", "url": "https://mcp.example.com/mcp", "headers": { "Authorization": "Bearer abc" } }',
      '\t}',
      '}',
    ].join('\n'),
  );
  expect(upstreams).toMatchObject([
    {
      name: 'filesystem',
      settings: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '/Users/me/Desktop'] },
    },
    { name: 'remote', settings: { url: 'https://mcp.example.com/mcp' } },
  ]);
});

test('the example reads', () => {
  const text = readFileSync(join(import.meta.dirname, '../../../examples/recourse.config.yaml'), 'utf8');
  const { upstreams, tools } = contentOf(text, { GITHUB_TOKEN: 'g', BILLING_TOKEN: 'b' });
  expect(upstreams).toMatchObject([
    { section: 'mcpServers', name: 'files', source: 'mcp:files' },
    { section: 'mcpServers', name: 'github', source: 'mcp:github' },
    { section: 'openapi', name: 'billing', settings: { baseUrl: 'https://billing.example.com/v1' } },
  ]);
  expect(Object.fromEntries(tools)).toEqual({
    'billing_*': { retries: 1 },
    billing_createRefund: {
      ...{ retries: 0, maxCallsPerSession: 1, effectId: { header: 'Idempotency-Key' } },
      reconcile: {
        ...{ tool: 'billing_listRefunds', arguments: { idempotency_key: '{effectId}' } },
        ...{ happened: '/data/0', final: true, afterMs: 30_000 },
      },
    },
    fetch_url: { timeoutMs: 5000, concurrency: 2 },
    write_file: { enabled: false },
  });
});

test.each(['mcpServers:\n  # none yet\ntools:\nopenapi: {}\n', '{}', '\uFEFF{}'])(
  'a file that says that there is nothing is a right one: %j',
  (text) => {
    expect(contentOf(text)).toEqual({
      upstreams: [],
      tools: new Map(),
      webhooks: new Map(),
      lanes: [{ lane: 'default', tools: [], concurrency: null, shards: 1 }],
      rules: [],
      approvals: { default: {}, rules: [] },
    });
  },
);

test.each(['', ' \n', '# nothing yet\n', 'null', '~', '---\n', '\uFEFF'])(
  'an empty file is a mistake, for it may have been cut short: %j',
  (text) => {
    expect(mistakesOf(text)).toEqual(['CONFIG_FILE c.yaml: is empty: write {} for an empty configuration']);
  },
);

test('the whole file of another host is told which part of it belongs here', () => {
  const text = JSON.stringify({ globalShortcut: 'Ctrl+Space', mcpServers: {}, theme: 'dark' });
  expect(mistakesOf(text)).toEqual([
    'CONFIG_FILE c.yaml line 1, column 2: globalShortcut: is unknown here: allowed are version, mcpServers, openapi, tools, lanes, webhooks, rules, approvals',
    'CONFIG_FILE c.yaml line 1, column 48: theme: is unknown here: allowed are version, mcpServers, openapi, tools, lanes, webhooks, rules, approvals',
  ]);
  expect(mistakesOf('{"servers": {}, "inputs": []}')).toEqual([
    'CONFIG_FILE c.yaml line 1, column 2: servers: is unknown here: allowed are version, mcpServers, openapi, tools, lanes, webhooks, rules, approvals',
    'CONFIG_FILE c.yaml line 1, column 17: inputs: is unknown here: allowed are version, mcpServers, openapi, tools, lanes, webhooks, rules, approvals',
  ]);
});

test('every mistake is told at once, each with its line, its column, its path and what to do', () => {
  const text = [
    'mcpServer: {}',
    'mcpServers:',
    '  files:',
    '    args: [a]',
    '  github:',
    '    url: https://api.example.com/mcp',
    '    headers:',
    "      Authorization: 'Bearer ${NOT_SET}'",
    'openapi:',
    '  billing:',
    '    documnt: ./billing.yaml',
    'tools:',
    '  fetch_url:',
    '    timeoutms: 5000',
    '    retries: -1',
    '    effects: reads',
    "  'no tool!':",
    '    enabled: false',
  ].join('\n');
  expect(mistakesOf(text).toSorted()).toEqual(
    [
      "CONFIG_FILE c.yaml line 1, column 1: mcpServer: is unknown here: did you mean 'mcpServers'?",
      'CONFIG_FILE c.yaml line 3, column 3: mcpServers.files: needs either a command or a url',
      'CONFIG_FILE c.yaml line 8, column 7: mcpServers.github.headers.Authorization: needs the environment variable NOT_SET, which is not set',
      "CONFIG_FILE c.yaml line 11, column 5: openapi.billing.documnt: is unknown here: did you mean 'document'?",
      'CONFIG_FILE c.yaml line 10, column 3: openapi.billing.document: is missing',
      "CONFIG_FILE c.yaml line 14, column 5: tools.fetch_url.timeoutms: is unknown here: did you mean 'timeoutMs'?",
      'CONFIG_FILE c.yaml line 15, column 5: tools.fetch_url.retries: Too small: expected number to be >=0',
      'CONFIG_FILE c.yaml line 16, column 5: tools.fetch_url.effects: Invalid option: expected one of "read"|"idempotent"|"write"',
      "CONFIG_FILE c.yaml line 17, column 3: tools['no tool!']: is not a valid name: must be a tool name, or a pattern with * for any characters",
    ].toSorted(),
  );
});

test.each([
  [
    'mcpServers.a.type',
    { type: 'htp', url: 'https://a.example.com' },
    'Invalid option: expected one of "stdio"|"http"|"streamable-http"|"streamableHttp"|"sse"',
  ],
  ['mcpServers.a.url', { url: 'localhost:80' }, 'Invalid URL'],
  ['mcpServers.a.args', { command: 'x', args: 'y' }, 'Invalid input: expected array, received string'],
  ['mcpServers.a.env.PORT', { command: 'x', env: { PORT: 80 } }, 'must be a string: put it into quotes'],
  ['mcpServers.a.cwd', { command: 'x', cwd: [] }, 'Invalid input: expected string, received array'],
  ['mcpServers.a.command', { command: '' }, 'Too small: expected string to have >=1 characters'],
  ['mcpServers.a.disabled', { command: 'x', disabled: 'no' }, 'Invalid input: expected boolean, received string'],
  ['mcpServers.a.timeoutMs', { command: 'x', timeoutMs: '30s' }, 'Invalid input: expected number, received string'],
  ['mcpServers.a.concurrency', { command: 'x', concurrency: 1.5 }, 'Invalid input: expected int, received number'],
  ['mcpServers.a.concurrency', { command: 'x', concurrency: 5000 }, 'Too big: expected number to be <=1024'],
  ['mcpServers.a', 5, 'Invalid input: expected object, received number'],
  [
    'openapi.a.maxResponseBytes',
    { document: 'x', maxResponseBytes: '1MB' },
    'Invalid input: expected number, received string',
  ],
  [
    'openapi.a.auth.type',
    { document: 'x', auth: { type: 'bearr' } },
    "Invalid discriminator value. Expected 'bearer' | 'apiKey' | 'basic' | 'headers'",
  ],
  [
    'openapi.a.auth.type',
    { document: 'x', auth: {} },
    "Invalid discriminator value. Expected 'bearer' | 'apiKey' | 'basic' | 'headers'",
  ],
  [
    'openapi.a.include',
    { document: 'x', include: 5 },
    'Invalid input: expected array, received number, or Invalid input: expected object, received number',
  ],
  ['openapi.a.include[0]', { document: 'x', include: [5] }, 'must be a string: put it into quotes'],
])('%s %j %s', (path, entry, problem) => {
  const [section = ''] = path.split('.');
  const [mistake = '', ...more] = mistakesOf(JSON.stringify({ [section]: { a: entry } }));
  expect([mistake.replace(/^.*?column \d+: /, ''), more]).toEqual([`${path}: ${problem}`, []]);
});

test('the version of the format is a number', () => {
  expect(mistakesOf('version: 2')).toEqual(['CONFIG_FILE c.yaml line 1, column 1: version: Invalid input: expected 1']);
});

test('within a choice the mistakes are those of the choice that was meant', () => {
  const text =
    'openapi:\n  a:\n    document: a.json\n    include: { operation: [x] }\n    auth: { type: bearer, tokn: y }\n';
  expect(mistakesOf(text)).toEqual([
    "CONFIG_FILE c.yaml line 4, column 16: openapi.a.include.operation: is unknown here: did you mean 'operations'?",
    'CONFIG_FILE c.yaml line 5, column 5: openapi.a.auth.token: is missing',
    "CONFIG_FILE c.yaml line 5, column 27: openapi.a.auth.tokn: is unknown here: did you mean 'token'?",
  ]);
});

test('what cannot be parsed says where, and shows nothing of the file', () => {
  const [mistake = '', ...more] = mistakesOf('mcpServers:\n  a:\n    env: { API_KEY: "kx3vQ81nUzT5\n');
  expect(more.length).toBeLessThan(20);
  expect(mistake).toContain('CONFIG_FILE c.yaml line 4, column 1: cannot be read: ');
  expect([mistake, ...more].join('\n')).not.toContain('kx3v');
});

test.each([
  ['a name that stands twice', '{"tools": {}, "tools": {}}', 'Map keys must be unique'],
  ['a tag', 'tools: !!js/function "x"', 'Unresolved tag'],
  ['a second document', 'tools: {}\n---\ntools: {}', 'multiple documents'],
  ['an alias of nothing', 'tools: *none', 'an alias of an anchor that is not defined above it'],
  ['an alias of itself', 'tools: &a\n  x: *a', 'is nested too deep'],
  ['ten thousand brackets', '['.repeat(10_000), 'cannot be read: '],
  ['thirty-three levels', `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`, 'is nested too deep'],
  ['a list', '[1]', 'c.yaml: must be an object'],
  ['a text', 'hello', 'must be an object'],
  ['a name that every object has', '{"mcpServers": {"__proto__": {"command": "x"}}}', 'cannot be used as a name'],
])('%s is a mistake, and quickly so', (_what, text, problem) => {
  const mistakes = mistakesOf(text);
  expect(mistakes.length).toBeGreaterThan(0);
  expect(mistakes.length).toBeLessThanOrEqual(21);
  expect(mistakes.join('\n')).toContain(problem);
});

test('aliases may repeat a part, and may not grow without end', () => {
  const shared = 'tools:\n  a: &slow { timeoutMs: 60000 }\n  b: *slow\n';
  expect(Object.fromEntries(contentOf(shared).tools)).toEqual({ a: { timeoutMs: 60_000 }, b: { timeoutMs: 60_000 } });
  const rows = Array.from({ length: 9 }, (_, row) => `  a${row + 1}: &a${row + 1} [${`*a${row},`.repeat(9)}]`);
  expect(mistakesOf(['tools:', '  a0: &a0 [x,x,x,x,x,x,x,x,x]', ...rows].join('\n')).join()).toContain(
    'has too many values',
  );
});

test('of very many mistakes the first twenty are told and the others counted', () => {
  const tools = Object.fromEntries(Array.from({ length: 50 }, (_, place) => [`t${place}`, { retries: -1 }]));
  const mistakes = mistakesOf(JSON.stringify({ tools }));
  expect(mistakes).toHaveLength(21);
  expect(mistakes.at(-1)).toBe('CONFIG_FILE c.yaml: … and 30 more');
});
