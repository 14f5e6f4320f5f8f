import { readParts } from '@recourse/dialects/media';
import { runTool } from '@recourse/test-support/run-tool.ts';
import { audio, defineTool, file, image, ok } from 'recourse-server';
import { expect, test } from 'vitest';

const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a]);

test('bytes and base64 make the same media', () => {
  const value = { type: 'image', mimeType: 'image/png', data: 'iVBORw0K' };
  expect(image(PNG, 'image/png')).toEqual(value);
  expect(image(Buffer.from(PNG), 'image/png')).toEqual(value);
  expect(image(PNG.buffer, 'image/png')).toEqual(value);
  expect(image(new Uint8Array([0, ...PNG, 0]).subarray(1, 7), 'image/png')).toEqual(value);
  expect(image('iVBORw0K', 'image/png')).toEqual(value);
  expect(audio(PNG, 'audio/L16; rate=24000')).toEqual({
    type: 'audio',
    mimeType: 'audio/L16; rate=24000',
    data: 'iVBORw0K',
  });
});

test('a file is bytes, with or without an address, or a text with one', () => {
  const uri = 'file:///a.pdf';
  expect(file(PNG, 'application/pdf')).toEqual({ type: 'resource', mimeType: 'application/pdf', data: 'iVBORw0K' });
  expect(file({ data: PNG, uri }, 'application/pdf')).toEqual({
    type: 'resource',
    mimeType: 'application/pdf',
    data: 'iVBORw0K',
    uri,
  });
  expect(file({ text: 'a,b', uri }, 'text/csv')).toEqual({ type: 'resource', mimeType: 'text/csv', text: 'a,b', uri });
});

test('the service takes what they make as media, wherever it stands in a value', () => {
  const media = {
    kind: 'media',
    media: { kind: 'image', mimeType: 'image/png', data: 'iVBORw0K', bytes: 6, uri: null },
  };
  expect(readParts(image(PNG, 'image/png'))).toEqual([media]);
  expect(readParts(['The map:', image(PNG, 'image/png')])).toEqual([{ kind: 'text', text: 'The map:' }, media]);
  expect(readParts({ map: image(PNG, 'image/png') })).toEqual([
    { kind: 'text', text: '{"map":"image/png, 6 bytes"}' },
    media,
  ]);
  expect(readParts(file({ text: 'a,b', uri: 'x:y' }, 'text/csv'))).toEqual([
    { kind: 'resource', resource: { text: 'a,b', mimeType: 'text/csv', uri: 'x:y' } },
  ]);
});

test('a tool returns one, alone or with a text', async () => {
  const draw = defineTool({
    name: 'draw',
    description: '',
    effects: 'read',
    input: { type: 'object' },
    run: () => ok(image(PNG, 'image/png'), 'Here.'),
  });
  expect(await runTool(draw)).toMatchObject({ value: { type: 'image', data: 'iVBORw0K' }, message: 'Here.' });
});

test.for([
  [() => image(PNG, 'png'), `image(): the second argument must be a media type such as 'image/png', not "png".`],
  [
    () => image(PNG, 'audio/mpeg'),
    `image(): the second argument must be a media type such as 'image/png', not "audio/mpeg".`,
  ],
  [
    () => Reflect.apply(audio, null, [PNG]),
    "audio(): the second argument must be a media type such as 'audio/mpeg', not undefined.",
  ],
  [
    () => image('not base64!', 'image/png'),
    'image(): a string must be base64, padded and without line breaks. Pass bytes (a Uint8Array), or Buffer.from(text).',
  ],
  [
    () => image('data:image/png;base64,iVBORw0K', 'image/png'),
    'image(): pass the part after the comma of a data: URL, or the bytes.',
  ],
  [
    () => file(new Uint8Array(), 'text/plain'),
    'file(): there are no bytes. Return a string, or empty(), if there is nothing to return.',
  ],
  [
    () => Reflect.apply(image, null, [{ a: 1 }, 'image/png']),
    'image(): data must be bytes (a Uint8Array or ArrayBuffer) or base64 as a string.',
  ],
  [
    () => Reflect.apply(file, null, [{ text: 'a' }, 'text/csv']),
    'file(): a text needs text, a string, and uri, its address: file({ text, uri }, mediaType).',
  ],
  [
    () => Reflect.apply(file, null, [{ data: PNG, uri: 7 }, 'text/csv']),
    "file(): uri must be a non-empty string, such as 'file:///report.pdf'.",
  ],
] as const)('wrong use is a TypeError: %#', ([use, message]) => {
  expect(use).toThrow(new TypeError(message));
});
