import { expect, test } from 'vitest';
import { createRedactor } from '#src/redaction/service-redactor.ts';

const SECRETS = [
  'tk/Ab+c=d&ef<gh"ij kl\\mn?é$&$1.*(x)|8931',
  'p@ss word=1',
  'ab&cd$ef+gh/ij',
  'Pa$$w0rd&more',
  'k3y=with+plus/slash==',
  'x;y,z:w@v!q*r',
  'has%41escapes of%20its own',
  '"\'<>&/\\%+ é😀',
];

const setUrl = (change: (url: URL) => void): string => {
  const url = new URL('https://user@example.com/');
  change(url);
  return url.href;
};

// What has a meaning of its own in a query has to be escaped by whoever puts a value there.
const inQuery = (secret: string): string => secret.replace(/[&+#%]/g, encodeURIComponent);

const toUnits = (secret: string): readonly string[] =>
  Array.from({ length: secret.length }, (_, at) => secret.charCodeAt(at).toString(16).padStart(4, '0'));

const escapeUnits = (text: string, units: RegExp): string =>
  text.replace(units, (unit) => `\\u${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`);

const WRITERS: readonly (readonly [by: string, write: (secret: string) => string])[] = [
  ['encodeURI', encodeURI],
  ['the setter of a path', (secret) => setUrl((url) => (url.pathname = `/t/${secret}`))],
  ['the setter of a query', (secret) => setUrl((url) => (url.search = `?t=${inQuery(secret)}`))],
  ['the setter of a user', (secret) => setUrl((url) => (url.username = secret))],
  ['the setter of a password', (secret) => setUrl((url) => (url.password = secret))],
  ['the setter of a fragment', (secret) => setUrl((url) => (url.hash = secret))],
  [
    'axios',
    (secret) =>
      encodeURIComponent(secret).replace(/%3A/gi, ':').replace(/%24/g, '$').replace(/%2C/gi, ',').replace(/%20/g, '+'),
  ],
  [
    'hex digits of both cases',
    (secret) => encodeURIComponent(secret).replace(/%[0-9A-F]{2}/, (sign) => sign.toLowerCase()),
  ],
  ['escapes of every byte', (secret) => Buffer.from(secret).toString('hex').replace(/../g, '%$&')],
  [
    'an escaped address in an address',
    (secret) => encodeURIComponent(`https://a.example/?b=${encodeURIComponent(secret)}`),
  ],
  ['what escapes slashes alone', (secret) => secret.replaceAll('/', '\\/')],
  ['PHP', (secret) => JSON.stringify(secret).replaceAll('/', '\\/')],
  ['Go', (secret) => escapeUnits(JSON.stringify(secret), /[<>&]/g)],
  ['capital hex digits', (secret) => escapeUnits(JSON.stringify(secret), /[\u0080-\uffff]/g)],
  [
    'JSON of escapes alone',
    (secret) =>
      `"${toUnits(secret)
        .map((unit) => `\\u${unit}`)
        .join('')}"`,
  ],
  ['JSON in an address', (secret) => encodeURIComponent(JSON.stringify({ secret }))],
  [
    'an address in JSON',
    (secret) => JSON.stringify({ url: `/?a=${encodeURIComponent(secret)}` }).replaceAll('/', '\\/'),
  ],
  ['JSON of PHP in JSON', (secret) => JSON.stringify(JSON.stringify(secret).replaceAll('/', '\\/'))],
];

test.each(WRITERS)('a registered value is found as it is written by %s', (_by, write) => {
  for (const secret of SECRETS) {
    const redactor = createRedactor({ secrets: [secret] });
    const written = write(secret);
    const shown = redactor.cutToolText(`before ${written} behind`, Number.POSITIVE_INFINITY, 'result');
    expect(shown).toMatch(/^before .*\[redacted\].* behind$/);
    // As much stays around it as would around any other.
    expect(shown.length, `${written} became ${shown}`).toBeLessThanOrEqual(write('').length + 40);
    const json = redactor.value(JSON.stringify({ value: [written] }), 'result');
    expect(JSON.parse(json)).toHaveProperty('value.0', shown.slice('before '.length, -' behind'.length));
  }
});

test('what stands around a value keeps its spelling', () => {
  const redactor = createRedactor({ secrets: ['a/b"c d€f'] });
  expect(
    redactor.cutToolText('x%20y%2Fa%2Fb%22c%20d%E2%82%ACf%20z\\n\\u00e9', Number.POSITIVE_INFINITY, 'result'),
  ).toBe('x%20y%2F[redacted]%20z\\n\\u00e9');
  expect(
    redactor.cutToolText('{\\"k\\":\\"a\\/b\\\\\\"c d\\u20ACf\\"}\\n%41', Number.POSITIVE_INFINITY, 'result'),
  ).toBe('{\\"k\\":\\"[redacted]\\"}\\n%41');
});

test('values that overlap are replaced as one', () => {
  const redactor = createRedactor({ secrets: ['xxabcdefgh', 'abcdefghijklmnop', 'nopqrstuv'] });
  expect(redactor.cutToolText('<xxabcdefghijklmnopqrstuv>', Number.POSITIVE_INFINITY, 'result')).toBe('<[redacted]>');
});

test('text that is full of escapes and holds no value is the same text', () => {
  const redactor = createRedactor({ secrets: ['abcdefgh12345678'] });
  for (const text of ['100%', '%', '\\', '\\u', '%E2%82', '%zz', 'a\\', '%ff%fe', '\\u12', '%F8%80%80', 'abc\\'])
    expect(redactor.text(`${text} ${text}… ${text}`, 'log')).toBe(`${text} ${text}… ${text}`);
});
