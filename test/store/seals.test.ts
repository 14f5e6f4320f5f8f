import { expect, test } from 'vitest';
import { parseStoreKeys } from '#src/config/settings/store-keys.ts';
import { createSeals, isSealed, NO_SEALING, type StoreKey } from '#src/store/seals.ts';

const { seals: NO_SEALS } = NO_SEALING;

const toKeys = (...entries: readonly string[]): readonly StoreKey[] => {
  const keys = parseStoreKeys(entries);
  if ('mistake' in keys) throw new Error(keys.mistake);
  return keys;
};

const entry = (id: string, fill: number): string => `${id}:${Buffer.alloc(32, fill).toString('base64')}`;

const PLACE = { kind: 'call', key: 'acme:c_1', life: 'one', part: 's' };
const TEXT = '{"pin":"PIN-4711 é \u{1f511}"}';

test('a sealed text tells nothing, is another one each time, and opens where it was sealed for', () => {
  const seals = createSeals(toKeys(entry('k1', 1)), 'required');
  const texts = [seals.seal(PLACE, TEXT), seals.seal(PLACE, TEXT)];
  for (const text of texts) {
    expect(isSealed(text)).toBe(true);
    expect(text).not.toContain('4711');
    expect(Buffer.from(text.split(':')[3] ?? '', 'base64url').toString('latin1')).not.toContain('4711');
    expect(seals.open(PLACE, text)).toEqual({ text: TEXT });
  }
  expect(new Set(texts).size).toBe(2);
  expect(seals.open(PLACE, seals.seal(PLACE, ''))).toEqual({ text: '' });
});

test.each([
  ['of another kind', { kind: 'message' }],
  ['of another tenant', { key: 'globex:c_1' }],
  ['under another handle', { key: 'acme:c_2' }],
  ['of another life', { life: 'two' }],
  ['of another part', { part: 'a' }],
])('a text that was moved into a record %s does not open', (_where, elsewhere) => {
  const seals = createSeals(toKeys(entry('k1', 1)), 'optional');
  const text = seals.seal(PLACE, TEXT);
  expect(seals.open({ ...PLACE, ...elsewhere }, text)).toEqual({ problem: 'not_authentic' });
});

test('a text of which any byte is changed, or that is cut anywhere, does not open', () => {
  const seals = createSeals(toKeys(entry('k1', 1)), 'optional');
  const [word, format, id, payload = ''] = seals.seal(PLACE, '{"a":1}').split(':');
  const bytes = Buffer.from(payload, 'base64url');
  const open = (changed: Buffer) => seals.open(PLACE, [word, format, id, changed.toString('base64url')].join(':'));
  expect(open(bytes)).toEqual({ text: '{"a":1}' });
  for (const [at, byte] of bytes.entries()) {
    const changed = Buffer.from(bytes);
    changed[at] = byte ^ 1;
    expect(open(changed)).toEqual({ problem: 'not_authentic' });
    expect(open(bytes.subarray(0, at))).toEqual({ problem: 'not_authentic' });
  }
});

test('the first key seals, all open; what another key has sealed is told from what nobody has', () => {
  const [one, two] = [entry('k1', 1), entry('k2', 2)];
  const before = createSeals(toKeys(one), 'required');
  const added = createSeals(toKeys(one, two), 'required');
  const made = createSeals(toKeys(two, one), 'required');
  const after = createSeals(toKeys(two), 'required');
  const besides = [
    [before, [before, added, made]],
    [added, [before, added, made]],
    [made, [added, made, after]],
    [after, [added, made, after]],
  ] as const;
  for (const [writer, readers] of besides)
    for (const reader of readers) expect(reader.open(PLACE, writer.seal(PLACE, TEXT))).toEqual({ text: TEXT });
  expect(after.open(PLACE, before.seal(PLACE, TEXT))).toEqual({ problem: 'key_missing' });
  expect(NO_SEALS.open(PLACE, before.seal(PLACE, TEXT))).toEqual({ problem: 'key_missing' });
  // The same id with another key is a forgery.
  const wrong = createSeals(toKeys(entry('k1', 9)), 'required');
  expect(wrong.open(PLACE, before.seal(PLACE, TEXT))).toEqual({ problem: 'not_authentic' });
});

test('a text that is not sealed opens without keys and while it may, and not where all must be sealed', () => {
  expect(NO_SEALS.seal(PLACE, TEXT)).toBe(TEXT);
  expect(NO_SEALS.open(PLACE, TEXT)).toEqual({ text: TEXT });
  expect(createSeals(toKeys(entry('k1', 1)), 'optional').open(PLACE, TEXT)).toEqual({ text: TEXT });
  expect(createSeals(toKeys(entry('k1', 1)), 'required').open(PLACE, TEXT)).toEqual({ problem: 'not_sealed' });
  for (const text of ['sealed:1:', 'sealed:1:k1', 'sealed:1:k1:', 'sealed:1:k1:AAAA', 'sealed:2:k1:AAAA'])
    expect(createSeals(toKeys(entry('k1', 1)), 'required').open(PLACE, text)).toHaveProperty('problem');
});

test('names for look-ups are one for each key, in an order that does not depend on which key is the first', () => {
  const [one, two] = [entry('k1', 1), entry('k2', 2)];
  const names = (entries: readonly string[], rule: 'optional' | 'required') =>
    createSeals(toKeys(...entries), rule).toNames('acme:digest');
  const [first = ''] = names([one], 'required');
  expect(first).toMatch(/^acme:[0-9a-f]{64}$/);
  const [second = ''] = names([two], 'required');
  expect(names([one, two], 'required')).toEqual([first, second]);
  expect(names([two, one], 'required')).toEqual([first, second]);
  expect(names([one], 'optional')).toEqual(['acme:digest', first]);
  expect(NO_SEALS.toNames('acme:digest')).toEqual(['acme:digest']);
  expect(createSeals(toKeys(one), 'required').toNames('globex:digest')[0]).not.toContain(first.slice(5));
});

test.each([
  [['k1'], 'entry 1 must be id:base64'],
  [[entry('k1', 1), 'k2:c2hvcnQ='], 'entry 2 must be id:base64'],
  [[entry('k 1', 1)], 'entry 1 must be id:base64'],
  [[`k1:${Buffer.alloc(33, 7).toString('base64')}`], 'entry 1 must be id:base64'],
  [[entry('k1', 1), entry('k1', 2)], 'entry 2 has the id of an earlier entry'],
])('a malformed entry is named by its place and not repeated: %#', (entries, words) => {
  const parsed = parseStoreKeys(entries);
  const mistake = 'mistake' in parsed ? parsed.mistake : '';
  expect(mistake).toContain(words);
  expect(mistake).toContain('recourse key --store');
  for (const text of entries) expect(mistake).not.toContain(text.split(':')[1] ?? text);
});

test('a key is made in either alphabet of base64, with and without its end', () => {
  const secret = Buffer.alloc(32, 0xfb);
  for (const text of [secret.toString('base64'), secret.toString('base64url')])
    expect(toKeys(`k:${text}`)).toEqual([{ id: 'k', secret }]);
});
