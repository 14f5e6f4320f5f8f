import { readAnswers, writeTurn } from '@recourse/test-support/formats/conversation.ts';
import { failed, succeeded } from '@recourse/test-support/formats/results.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { DIALECTS } from '#src/dialects.ts';
import { explainResult } from '#src/observation.ts';

// The first bytes of each kind, and nothing behind them.
const PNG = 'iVBORw0KGgoAAAANSUhEUgAA';
const JPEG = '/9j/4AAQSkZJRgABAQAAAQAB';
const GIF = 'R0lGODlhAQABAAAAACwAAAAA';
const WEBP = 'UklGRiQAAABXRUJQVlA4IBgA';
const SOUND = 'SUQzBAAAAAAAI1RTU0UAAAAP';

const image = (mimeType: string, data: string) => ({ type: 'image', mimeType, data });
const png = image('image/png', PNG);
const text = (words: string) => ({ type: 'text', text: words });
const CALL = { id: 'call_1', name: 'look', arguments: {} };

const answer = (format: 'anthropic' | 'openai-responses' | 'gemini', value: unknown, more = {}): unknown => {
  return DIALECTS.get(format)
    ?.parse(writeTurn(format, [CALL]))
    ?.toMessages([succeeded(value, more)])[0];
};

const shownByAnthropic = (data: string, mediaType = 'image/png') => ({
  type: 'image',
  source: { type: 'base64', media_type: mediaType, data },
});
const anthropicContent = (value: unknown, more = {}): unknown =>
  Object(answer('anthropic', value, more)).content[0].content;

const LIST = { content: [text('Before.'), png, text('After.')] };

test('Anthropic is shown texts and images in their order', () => {
  expect(answer('anthropic', LIST)).toEqual({
    role: 'user',
    content: [
      {
        type: 'tool_result',
        tool_use_id: 'call_1',
        content: [text('Before.'), shownByAnthropic(PNG), text('After.')],
      },
    ],
  });
});

test('OpenAI’s responses are shown images as data URLs, of both kinds of calls', () => {
  const output = [
    { type: 'input_text', text: 'Before.' },
    { type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'auto' },
    { type: 'input_text', text: 'After.' },
  ];
  expect(answer('openai-responses', LIST)).toEqual({ type: 'function_call_output', call_id: 'call_1', output });
  const custom = { type: 'custom_tool_call', call_id: 'call_1', name: 'look', input: '{}' };
  expect(
    DIALECTS.get('openai-responses')
      ?.parse([custom])
      ?.toMessages([succeeded(LIST)]),
  ).toEqual([{ type: 'custom_tool_call_output', call_id: 'call_1', output }]);
});

const geminiTurn = (modelVersion: string, part: object) => ({
  candidates: [{ content: { role: 'model', parts: [part] } }],
  modelVersion,
});

test.each(['gemini-3-pro-preview', 'models/gemini-3.5-flash', 'gemini-10-pro'])(
  'Gemini is shown images inside its response, by %s',
  (model) => {
    const body = geminiTurn(model, { functionCall: { id: 'call_1', name: 'look', args: {} } });
    const [content] =
      DIALECTS.get('gemini')
        ?.parse(body)
        ?.toMessages([succeeded(LIST)]) ?? [];
    expect(content).toEqual({
      role: 'user',
      parts: [
        {
          functionResponse: {
            id: 'call_1',
            name: 'look',
            response: { output: 'Before.\nimage/png, 18 bytes, attached\nAfter.' },
            parts: [{ inlineData: { mimeType: 'image/png', data: PNG } }],
          },
        },
      ],
    });
  },
);

test('Gemini is shown images in the spelling it was asked in', () => {
  const { modelVersion, ...rest } = geminiTurn('gemini-3-pro', { function_call: { name: 'look', args: {} } });
  const body = { ...rest, model_version: modelVersion };
  expect(
    DIALECTS.get('gemini')
      ?.parse(body)
      ?.toMessages([succeeded(png)]),
  ).toEqual([
    {
      role: 'user',
      parts: [
        {
          function_response: {
            name: 'look',
            response: { output: 'image/png, 18 bytes, attached' },
            parts: [{ inline_data: { mime_type: 'image/png', data: PNG } }],
          },
        },
      ],
    },
  ]);
});

test.each([
  ['an earlier model', geminiTurn('gemini-2.5-flash', { functionCall: { name: 'look', args: {} } })],
  ['nobody knows which model', { role: 'model', parts: [{ functionCall: { name: 'look', args: {} } }] }],
])('Gemini is told of an image where %s reads it, for earlier ones refuse the whole request', (_, body) => {
  expect(
    DIALECTS.get('gemini')
      ?.parse(body)
      ?.toMessages([succeeded(LIST)]),
  ).toEqual([
    {
      role: 'user',
      parts: [
        {
          functionResponse: {
            name: 'look',
            response: { output: 'Before.\nimage/png, 18 bytes, not shown here\nAfter.' },
          },
        },
      ],
    },
  ]);
});

test.each(['openai-chat', 'vapi', 'langchain', 'text'] as const)(
  '%s is told of an image, without its data',
  (format) => {
    const turn = writeTurn(format, [CALL]);
    const written = JSON.stringify(
      DIALECTS.get(format)
        ?.parse(turn)
        ?.toMessages([succeeded(LIST)]),
    );
    expect(written).toContain('image/png, 18 bytes, not shown here');
    expect(written).not.toContain(PNG);
  },
);

test.each([
  ['an image', png, [shownByAnthropic(PNG)]],
  ['a list', [text('A'), 'B', { c: 1 }, png], [text('A\nB\n{"c":1}'), shownByAnthropic(PNG)]],
  [
    'a member',
    { title: 'Home', screenshot: png },
    [text('{"title":"Home","screenshot":"image/png, 18 bytes"}'), shownByAnthropic(PNG)],
  ],
  [
    'content beside members',
    { ok: true, content: [png, text('Done.')] },
    [text('{"ok":true}'), shownByAnthropic(PNG), text('Done.')],
  ],
  [
    'a list among members',
    { n: 2, shots: [png, image('', GIF)] },
    [
      text('{"n":2,"shots":["image/png, 18 bytes","image, 18 bytes"]}'),
      shownByAnthropic(PNG),
      shownByAnthropic(GIF, 'image/gif'),
    ],
  ],
  [
    'a member further down',
    { pages: [{ n: 1, shot: { at: '1 s', picture: png } }] },
    [text('{"pages":[{"n":1,"shot":{"at":"1 s","picture":"image/png, 18 bytes"}}]}'), shownByAnthropic(PNG)],
  ],
  [
    'a member of an item',
    { content: [text('A'), { shot: png }] },
    [text('A\n{"shot":"image/png, 18 bytes"}'), shownByAnthropic(PNG)],
  ],
  ['what it is, not what it is called', image('image/png', JPEG), [shownByAnthropic(JPEG, 'image/jpeg')]],
  [
    'a GIF and a WebP',
    [image('', GIF), image('', WEBP)],
    [shownByAnthropic(GIF, 'image/gif'), shownByAnthropic(WEBP, 'image/webp')],
  ],
  [
    'a file that is an image',
    [{ type: 'resource', mimeType: null, uri: 'file:///a', bytes: 18, data: PNG }],
    [shownByAnthropic(PNG)],
  ],
] as const)('%s in a value is shown', (_, value, content) => {
  expect(anthropicContent(value)).toEqual(content);
});

test.each([
  ['a sound', { type: 'audio', mimeType: 'audio/mpeg', data: SOUND }, 'audio/mpeg, 18 bytes, not shown here'],
  ['another kind of image', image('image/svg+xml', 'PHN2Zz48L3N2Zz4='), 'image/svg+xml, 11 bytes, not shown here'],
  ['an image in name only', image('image/png', 'aGVsbG8='), 'image/png, 5 bytes, not shown here'],
  ['a type that forges a line', image('image/png\nERROR: x', SOUND), 'image, 18 bytes, not shown here'],
  ['too large an image', image('image/png', PNG.padEnd(5_242_884, 'A')), 'image/png, 3932163 bytes, not shown here'],
  [
    'one whose data was too much to keep',
    { type: 'image', mimeType: 'image/png', uri: null, bytes: 3_000_000 },
    'image/png, 3000000 bytes, not shown here',
  ],
])('%s is told of', (_, value, content) => {
  expect(anthropicContent({ content: [value] })).toBe(content);
});

test.each([
  ['an address for data', image('image/png', 'https://example.com/abcd.png')],
  ['data without a type of part', { mimeType: 'image/png', data: PNG }],
  ['a listed file without data', { content: [{ type: 'resource', mimeType: 'a/b', uri: 'file:///a', bytes: 3 }] }],
  ['a record that has such members', { type: 'image', mimeType: 'image/png', bytes: 'many' }],
])('%s is no medium, and stays JSON', (_, value) => {
  expect(anthropicContent(value)).toBe(JSON.stringify(value));
});

test('a text resource is read as its text, escaped once, wherever it stands', () => {
  const resource = { type: 'resource', mimeType: 'application/json', uri: 'test://a', bytes: 7, text: '{"a":1}' };
  expect(anthropicContent({ content: [text('Found it.'), resource] })).toBe('Found it.\n{"a":1}');
  expect(anthropicContent(resource)).toBe('{"a":1}');
  expect(anthropicContent({ page: 2, file: resource })).toBe('{"page":2,"file":"application/json, below"}\n{"a":1}');
  expect(anthropicContent([resource, png])).toEqual([text('{"a":1}'), shownByAnthropic(PNG)]);
  const { uri: _uri, ...record } = resource;
  expect(anthropicContent(record)).toBe(JSON.stringify(record));
});

test('at most twenty images are shown, and the others told of', () => {
  const content = anthropicContent({ content: Array.from({ length: 22 }, () => png) });
  expect(content).toHaveLength(21);
  expect(Object(content)[20]).toEqual(text('image/png, 18 bytes, not shown here\nimage/png, 18 bytes, not shown here'));
});

test('OpenAI and Gemini are told of a GIF', () => {
  expect(answer('openai-responses', image('image/gif', GIF))).toMatchObject({
    output: 'image/gif, 18 bytes, not shown here',
  });
});

test('the message stands before what is shown, and warnings behind it', () => {
  const warnings = [{ code: 'journal_full', message: 'Slow.' }];
  expect(anthropicContent(png, { message: 'A map.', warnings })).toEqual([
    text('A map.'),
    shownByAnthropic(PNG),
    text('Warning: Slow.'),
  ]);
});

test('a failure shows nothing, and tells what it holds without the data', () => {
  expect(explainResult(failed('It broke.', {}, { value: { screenshot: png, content: [png] } }))).toBe(
    'ERROR: tool_exception: It broke.\nDetails: {"screenshot":"image/png, 18 bytes"}\nimage/png, 18 bytes, not shown here\nimage/png, 18 bytes, not shown here',
  );
});

test('what was shown is read back as its texts', () => {
  for (const format of ['anthropic', 'openai-responses'] as const)
    expect(readAnswers(format, [answer(format, LIST)])).toEqual([
      { id: 'call_1', name: null, success: true, text: 'Before.\nAfter.' },
    ]);
});

const LONG_PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const inLines = (length: number, end: string) => LONG_PNG.replace(new RegExp(`.{${length}}`, 'g'), `$&${end}`);

test.each([
  ['in lines, as MIME has it', inLines(76, '\r\n')],
  ['in lines of 64, ended by a line break', `${inLines(64, '\n')}\n`],
  ['in indented lines', inLines(60, '\n    ')],
  ['without padding', LONG_PNG.replace(/=+$/, '')],
  ['in the alphabet of URLs', LONG_PNG.replaceAll('+', '-').replaceAll('/', '_')],
  ['in the alphabet of URLs without padding', LONG_PNG.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')],
  ['as a data URL', `data:image/png;base64,${LONG_PNG}`],
  ['as a data URL with a parameter', `data:image/png;charset=utf-8;base64,${LONG_PNG}`],
])('base64 %s is the picture that it is, and is never read as text', (_name, data) => {
  for (const value of [image('image/png', data), { map: image('image/png', data) }, [image('image/png', data)]]) {
    expect(anthropicContent(value)).toContainEqual(shownByAnthropic(LONG_PNG));
    expect(explainResult(succeeded(value))).toContain('image/png, 70 bytes, not shown here');
  }
});

test.each(['hello world', 'hello\nworld', 'abcde', 'a b\nc d', 'data:text/plain,abcd', 'http://a/b'])(
  'the text %j is no base64',
  (data) => {
    expect(explainResult(succeeded({ type: 'resource', mimeType: 'text/plain', data }))).toContain(
      JSON.stringify(data),
    );
  },
);

test.each([
  ['padding', `${'='.repeat(100_000)}x`],
  ['blanks', `a${' '.repeat(100_000)}b`],
  ['empty lines', `a${'\n'.repeat(100_000)}b`],
  ['a data URL', `data:${'base64,'.repeat(20_000)}`],
])('what is no base64 for a long run of %s takes time in proportion to its length', (_, data) => {
  const startedAt = performance.now();
  expect(explainResult(succeeded({ type: 'resource', mimeType: 'text/plain', data })).length).toBeGreaterThan(100_000);
  expect(performance.now() - startedAt).toBeLessThan(timeLimit(1_000));
});
