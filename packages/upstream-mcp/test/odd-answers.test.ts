import { type McpLab, startMcpLab } from '@recourse/test-support/mcp-servers/mcp-lab.ts';
import {
  rawProgram,
  readTool,
  resultText,
  startRawHttp,
  writeTool,
} from '@recourse/test-support/mcp-servers/raw-script.ts';
import { expect, onTestFinished, test } from 'vitest';

const ID = '8123456789012345679';
const text = (value: string): string => `{"type":"text","text":${JSON.stringify(value)}}`;
const content = (...blocks: readonly string[]): string => resultText(`{"content":[${blocks.join(',')}]}`);
const structured = (value: string, more = ''): string =>
  resultText(`{"content":[${text('as text')}],"structuredContent":${value}${more}}`);
const error = (value: string): string => `{"jsonrpc":"2.0","id":ID,"error":${value}}`;

type Row = readonly [about: string, answer: string, expected: object];

const NAMED_CHART = "The answer has further parts that could not be read: 'chart'.";
const READS = { outcome: 'failed', executed: 'yes', error: { code: 'tool_failed' } };
const NO_RESULT =
  "The answer of the MCP server 'lab' is not a tool result. Use another tool, or say what could not be done.";
const DISK =
  "The answer of the MCP server 'lab' is an error: the disk is full. Use another tool, or say what could not be done.";

/** What is read as it was written, whatever JavaScript or the SDK would make of it. */
const READ: readonly Row[] = [
  ['an id beyond 2^53', structured(`{"id":${ID}}`), { value: { id: ID } }],
  ['a nested negative id', structured(`{"rows":[{"id":-${ID},"n":5}]}`), { value: { rows: [{ id: `-${ID}`, n: 5 }] } }],
  [
    'numbers beyond doubles',
    structured('{"a":1e400,"b":-1e400,"c":1e-400,"d":1e20}'),
    { value: { a: '1e400', b: '-1e400', c: '1e-400', d: 1e20 } },
  ],
  ['a long decimal', structured('{"a":12345678901234567.5,"b":0.1}'), { value: { a: '12345678901234567.5', b: 0.1 } }],
  [
    'NaN, as Python writes it',
    structured('{"a":NaN,"b":[-Infinity],"c":"NaN"}'),
    { value: { a: 'NaN', b: ['-Infinity'], c: 'NaN' } },
  ],
  ['a list', structured('[1,"b"]'), { value: [1, 'b'] }],
  ['a number', structured('7'), { value: 7 }],
  ['no structured content, as null', structured('null', ',"isError":null,"_meta":null'), { value: 'as text' }],
  [
    'a block of a new type',
    content(text('Issue 5 was made.'), '{"type":"chart","points":[1]}'),
    { value: 'Issue 5 was made.', message: NAMED_CHART },
  ],
  ['nothing but such a block', content('{"type":"chart"}'), { value: null, message: NAMED_CHART }],
  [
    'a block with a text',
    content('{"type":"error","text":"the pen is empty"}'),
    { value: 'the pen is empty', message: "The answer has further parts that could not be read: 'error'." },
  ],
  [
    'an image without a type',
    content('{"type":"image","data":"aGVsbG8="}'),
    { value: { content: [{ type: 'image', mimeType: null, uri: null, bytes: 5, data: 'aGVsbG8=' }] }, message: '' },
  ],
  [
    'base64 in lines, in the alphabet of URLs and without padding',
    content('{"type":"image","mimeType":"image/png","data":"-_8\\nA-_\\n9h"}'),
    {
      value: { content: [{ type: 'image', mimeType: 'image/png', uri: null, bytes: 6, data: '+/8A+/9h' }] },
      message: '',
    },
  ],
  [
    'base64 as a data URL',
    content('{"type":"image","mimeType":"image/png","data":"data:image/png;base64,aGVsbG8="}'),
    { value: { content: [{ type: 'image', mimeType: 'image/png', uri: null, bytes: 5, data: 'aGVsbG8=' }] } },
  ],
  [
    'an image without data',
    content(text('seen'), '{"type":"image","mimeType":"image/png"}'),
    { value: 'seen', message: "The answer has further parts that could not be read: 'image'." },
  ],
  ['a text that is a number', content('{"type":"text","text":5}'), { value: '5' }],
  ['a text that is an object', content('{"type":"text","text":{"a":1}}'), { value: '{"a":1}' }],
  ['a bare text', content('"hello"'), { value: 'hello' }],
  ['a text in the place of the list', resultText('{"content":"hello"}'), { value: 'hello' }],
  ['no content, as null', resultText('{"content":null}'), { value: null, empty: true }],
  ['an empty result', resultText('{}'), { value: null, empty: true }],
  [
    'a null among blocks',
    content('null', text('a')),
    { value: 'a', message: "The answer has further parts that could not be read: 'without a type'." },
  ],
  [
    'a resource without an address',
    content('{"type":"resource","resource":{"text":"a"}}'),
    { value: { content: [{ type: 'resource', mimeType: null, uri: null, bytes: 1, text: 'a' }] } },
  ],
  [
    'a value in no form',
    resultText(`{"toolResult":{"id":${ID}}}`),
    {
      value: { toolResult: { id: ID } },
      message: 'The answer is not in the form of a tool result: it is shown as it is.',
    },
  ],
  ['no version of JSON-RPC', `{"id":ID,"result":{"content":[${text('a')}]}}`, { value: 'a' }],
  ['an id as text', `{"jsonrpc":"2.0","id":"ID","result":{"content":[${text('a')}]}}`, { value: 'a' }],
  [
    'an error of null beside',
    `{"jsonrpc":"2.0","id":ID,"error":null,"result":{"content":[${text('a')}]}}`,
    { value: 'a' },
  ],
];

/** What ends its call as a failure, with what the server says where it says something. */
const FAILED: readonly Row[] = [
  [
    'a failure with an id',
    structured(`{"id":${ID}}`, ',"isError":true'),
    { outcome: 'retry', value: { id: ID }, message: 'as text' },
  ],
  ['a failure said otherwise', structured('{}', ',"isError":"true"'), { outcome: 'retry', message: 'as text' }],
  ['null', resultText('null'), { ...READS, message: NO_RESULT }],
  ['a list as result', resultText('[]'), { ...READS, message: NO_RESULT }],
  ['neither result nor error', '{"jsonrpc":"2.0","id":ID}', { ...READS, message: NO_RESULT }],
  ['an error that is a text', error('"the disk is full"'), { ...READS, message: DISK }],
  ['an error without a code', error('{"message":"the disk is full"}'), { ...READS, message: DISK }],
  [
    'a result and an error',
    '{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"the disk is full"}}',
    { ...READS, message: DISK },
  ],
  [
    'an error beside null',
    '{"jsonrpc":"2.0","id":ID,"result":null,"error":{"code":-32602,"message":"a must be 1"}}',
    { outcome: 'retry', message: 'a must be 1' },
  ],
  [
    'an error without a text',
    error('{"code":-32000,"message":null}'),
    { ...READS, message: expect.stringContaining("answered with error -32000: The MCP server 'lab' gave no reason.") },
  ],
  ['what is no JSON', '{"jsonrpc":"2.0","id":ID,"result":{"content":[}}', { ...READS, message: NO_RESULT }],
  ['an id of nobody', '{"jsonrpc":"2.0","id":7000000,"result":{"content":[]}}', { ...READS, message: NO_RESULT }],
  [
    'an error under the id null',
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no such thing"}}',
    { ...READS, message: expect.stringContaining('error -32600: no such thing') },
  ],
];

const BASICS: Readonly<Record<string, object>> = { read: { success: true, executed: 'yes' }, fail: { success: false } };

/** Of a write only what was answered as its result is known to have been done. */
const WRITTEN: readonly Row[] = [
  [
    'a block of a new type',
    content(text('Issue 5 was made.'), '{"type":"chart"}'),
    { success: true, value: 'Issue 5 was made.', message: NAMED_CHART },
  ],
  ['no content, as null', resultText('{"content":null}'), { success: true }],
  [
    'null',
    resultText('null'),
    {
      outcome: 'unknown',
      executed: 'maybe',
      message:
        "The answer of the MCP server 'lab' is not a tool result. The call may or may not have taken effect. Check before calling it again.",
    },
  ],
  [
    'an error that is a text',
    error('"the disk is full"'),
    { outcome: 'unknown', executed: 'maybe', message: expect.stringContaining('is an error: the disk is full.') },
  ],
];

const ROWS = { read: READ, fail: FAILED, write: WRITTEN };
const NAMED = Object.entries(ROWS).flatMap(([kind, rows]) =>
  rows.map(([about, line, expected], at) => ({
    name: `${kind}${at}`,
    kind,
    about: `${kind}: ${about}`,
    line,
    expected,
  })),
);
const SCRIPT = {
  tools: NAMED.map(({ name, kind }) => (kind === 'write' ? writeTool(name) : readTool(name))),
  calls: Object.fromEntries(NAMED.map(({ name, line }) => [name, line])),
};

const startLab = async (server: { readonly settings: object; readonly stop: () => void }): Promise<McpLab> => {
  onTestFinished(server.stop);
  const lab = await startMcpLab({ ...server.settings, timeoutMs: 20_000 });
  onTestFinished(() => lab[Symbol.asyncDispose]());
  return lab;
};

const FORMS = [
  ['a program', async () => ({ settings: rawProgram(SCRIPT), stop: () => undefined })],
  ['HTTP with JSON', () => startRawHttp(SCRIPT, { form: 'json' })],
  ['HTTP with events', () => startRawHttp(SCRIPT, { form: 'events' })],
  ['HTTP with events of 2024', () => startRawHttp(SCRIPT, { form: 'stream' })],
  ['HTTP of 2026-07-28', () => startRawHttp({ ...SCRIPT, isModern: true }, { form: 'events' })],
] as const;

test.each(FORMS)(
  'what can be read of an answer from %s is read, and no answer is waited for in vain',
  async (_, start) => {
    const lab = await startLab(await start());
    for (const { name, kind, about, expected } of NAMED)
      expect.soft(await lab.call(`lab_${name}`), about).toMatchObject({ ...BASICS[kind], ...expected });
    expect(lab.upstream.state()).toMatchObject({ status: 'up', reconnects: 0 });
  },
);

// Other programs write their errors so, and JSON-RPC has the same words for it.
const LOG = [
  '{"level":"error","error":"retrying"}',
  '{"level":"info","result":"ok"}',
  '{"id":null,"error":{"code":1,"message":"retrying"}}',
  '{"id":7000000,"error":"retrying"}',
  '[{"error":"retrying"}]',
  '{"id":5,"event":"retrying"}',
];

test.each([readTool, writeTool])('lines of a log on stdout end no call', async (toTool) => {
  const answer = [...LOG, content(text('done'))].join('\n');
  const lab = await startLab({
    settings: rawProgram({ tools: [toTool('go')], calls: { go: answer } }),
    stop: () => undefined,
  });
  expect(await lab.call('lab_go')).toMatchObject({ success: true, value: 'done' });
});

const REFUSED = `{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"the month must be 1 to 12"}}`;
const ASKS_AGAIN = { outcome: 'retry', message: 'the month must be 1 to 12' };

test.each([
  [400, REFUSED, ASKS_AGAIN],
  [422, REFUSED, ASKS_AGAIN],
  [404, REFUSED, ASKS_AGAIN],
  [500, REFUSED, ASKS_AGAIN],
  [400, REFUSED.replace('ID', '"other"'), { outcome: 'failed', message: expect.stringContaining('HTTP 400') }],
  [400, 'no', { outcome: 'failed', message: expect.stringContaining('HTTP 400') }],
  [403, REFUSED, { outcome: 'failed', message: expect.stringContaining('rejects the credentials') }],
  [503, REFUSED, { error: { code: 'upstream_unavailable' }, message: expect.stringContaining('HTTP 503') }],
  [202, '', { outcome: 'failed', message: NO_RESULT }],
  [204, '', { outcome: 'failed', message: NO_RESULT }],
  [200, '', { outcome: 'failed', message: NO_RESULT }],
])('an answer of HTTP %i with the body %s ends its call at once', async (status, line, expected) => {
  const script = { tools: [readTool('go')], calls: { go: line } };
  const lab = await startLab(await startRawHttp(script, { form: 'json', status }));
  expect(await lab.call('lab_go')).toMatchObject({ success: false, ...expected });
});
