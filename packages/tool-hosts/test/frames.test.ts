import { timeLimit } from '@recourse/test-support/time-limit.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFrameReader, encodeFrame, type Frame } from '#src/frames.ts';

const open = (maxBodyBytes = 1000) => {
  const frames: Frame[] = [];
  const faults: string[] = [];
  const { read } = createFrameReader({
    maxBodyBytes,
    onFrame: (frame) => void frames.push(frame),
    onFault: () => void faults.push('fault'),
  });
  return { frames, faults, read };
};

/** A frame's first bytes, with lengths of one's own choosing. */
const prefix = (headBytes: number, bodyBytes: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32BE(headBytes, 0);
  bytes.writeUInt32BE(bodyBytes, 4);
  return bytes;
};

test('a frame is two lengths, then head and body as UTF-8', () => {
  expect(encodeFrame('{}', 'é').toString('hex')).toBe('00000002000000027b7dc3a9');
  expect(encodeFrame('{}').toString('hex')).toBe('00000002000000007b7d');
});

test('frames that come a byte at a time are read as they were sent', () => {
  const { frames, faults, read } = open();
  const bytes = Buffer.concat([encodeFrame('{"a":"ü€🦊"}', '🦊'), encodeFrame('', ''), encodeFrame('b', 'ß')]);
  for (const byte of bytes) read(Buffer.of(byte));
  expect(frames).toEqual([
    { head: '{"a":"ü€🦊"}', body: '🦊' },
    { head: '', body: '' },
    { head: 'b', body: 'ß' },
  ]);
  expect(faults).toEqual([]);
});

test('a pair of frames cut in two at any byte, within a letter too, is read as it was sent', () => {
  const bytes = Buffer.concat([encodeFrame('{"a":"€"}', '🦊'), encodeFrame('b', 'c')]);
  for (let at = 0; at <= bytes.length; at += 1) {
    const { frames, read } = open();
    read(bytes.subarray(0, at));
    read(bytes.subarray(at));
    expect(frames).toEqual([
      { head: '{"a":"€"}', body: '🦊' },
      { head: 'b', body: 'c' },
    ]);
  }
});

test('many frames in one chunk are told in their order', () => {
  const { frames, read } = open();
  read(Buffer.concat(Array.from({ length: 1000 }, (_, n) => encodeFrame(`head ${n}`, `body ${n}`))));
  expect(frames).toHaveLength(1000);
  expect(frames[999]).toEqual({ head: 'head 999', body: 'body 999' });
});

test('a body of exactly the limit is read; one byte more is a fault before it has come', () => {
  const { frames, faults, read } = open(4);
  read(encodeFrame('a', '1234'));
  expect(frames).toEqual([{ head: 'a', body: '1234' }]);
  read(prefix(1, 5));
  expect(faults).toEqual(['fault']);
});

test.each([
  ['head', prefix(4_194_305, 0)],
  ['head', prefix(0xff_ff_ff_ff, 0)],
  ['body', prefix(0, 0xff_ff_ff_ff)],
])('a %s beyond its limit is one fault, and what follows is not read', (_part, bytes) => {
  const { frames, faults, read } = open();
  read(bytes);
  read(encodeFrame('a', 'b'));
  read(encodeFrame('c', 'd'));
  expect(faults).toEqual(['fault']);
  expect(frames).toEqual([]);
});

test('frames before a fault in the same chunk are told', () => {
  const { frames, faults, read } = open();
  read(Buffer.concat([encodeFrame('a', 'b'), prefix(0, 1001), encodeFrame('c', 'd')]));
  expect(frames).toEqual([{ head: 'a', body: 'b' }]);
  expect(faults).toEqual(['fault']);
});

test('a large body in thousands of chunks is put together once', () => {
  const body = 'x€'.repeat(8_000_000);
  const bytes = encodeFrame('head', body);
  const { frames, read } = open(bytes.length);
  const startedAt = performance.now();
  for (let at = 0; at < bytes.length; at += 8192) read(bytes.subarray(at, at + 8192));
  expect(frames.length).toBe(1);
  expect(frames[0]?.body === body).toBe(true);
  // Putting together what has come with every chunk would copy 60 GB.
  expect(performance.now() - startedAt).toBeLessThan(timeLimit(5000));
});

test('whatever is sent, cut however, is read as it was sent', () => {
  // Lone surrogates have no UTF-8; JSON writes them as escapes.
  const text = fc.string({ unit: 'grapheme', maxLength: 40 });
  const sent = fc.array(fc.record({ head: text, body: text }), { maxLength: 8 });
  fc.assert(
    fc.property(sent, fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }), (frames, sizes) => {
      const reading = open();
      let rest = Buffer.concat(frames.map(({ head, body }) => encodeFrame(head, body)));
      for (let n = 0; rest.length > 0; n += 1) {
        const size = sizes[n % sizes.length] ?? 1;
        reading.read(rest.subarray(0, size));
        rest = rest.subarray(size);
      }
      expect(reading.frames).toEqual(frames);
      expect(reading.faults).toEqual([]);
    }),
    { numRuns: 500 },
  );
});
