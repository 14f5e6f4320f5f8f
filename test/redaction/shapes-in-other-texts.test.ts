import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { findShapes, replaceFound } from '#src/redaction/find-shapes.ts';

// Put together here, so that whoever scans this file for keys finds none.
const A = 'abcdefghijklmnopqrstuvwxyz0123456789'.repeat(2);

const redactShapes = (text: string): string => replaceFound(text, findShapes(text));

const SHAPES: readonly (readonly [secret: string, shown: string])[] = [
  ['postgres://bob:hunter2@db/x', 'postgres://[redacted]@db/x'],
  ['authorization: Bearer abcdefgh12345678', 'authorization: Bearer [redacted]'],
  ['Bearer abcdefgh12345678', 'Bearer [redacted]'],
  ['Basic dXNlcjpwYXNz', 'Basic [redacted]'],
  [`sk-ant-${A}`, '[redacted key]'],
  [`sk_live_${A}`, '[redacted key]'],
  ['AKIAABCDEFGHIJKLMNOP', '[redacted key]'],
  [`ghp_${A.slice(0, 36)}`, '[redacted key]'],
  [`xoxb-${A}`, '[redacted key]'],
  [`rcs_${A.slice(0, 43)}`, '[redacted key]'],
  ['eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl', '[redacted token]'],
];

const BEFORE = ['\u001b[31m', '\u001b[0;1;31m', '\\u001b[31m', 'x%3D', 'https%3A%2F%2Fx%3d', 'my_', '\\u003d', '\\t'];

test.each(SHAPES)('%s is redacted behind colours, escapes and underscores', (secret, shown) => {
  for (const before of BEFORE) expect(redactShapes(`${before}${secret}\u001b[0m`)).toBe(`${before}${shown}\u001b[0m`);
});

test.each([
  ['postgres://u:pa/ssw0rd@h/db', 'postgres://[redacted]@h/db'],
  ['postgres://u:pa"ss@h', 'postgres://[redacted]@h'],
  ['redis://:pa/ss@h', 'redis://[redacted]@h'],
  ['amqp://u:a/b"c@d/e@h', 'amqp://[redacted]@h'],
  ['{"url":"s3://u:pa/ss@h/x","mail":"a@b.c"}', '{"url":"s3://[redacted]@h/x","mail":"a@b.c"}'],
  ['postgres://u:pw@h/db?mail=a@b.c', 'postgres://[redacted]@h/db?mail=a@b.c'],
  ['https://x.example/?auth=Bearer%20abcdefgh%2Bijkl%3D%3D&y=1', 'https://x.example/?auth=Bearer%20[redacted]&y=1'],
  ['authorization=Basic%20dXNlcjpwYXNz', 'authorization=Basic%20[redacted]'],
  ['AKIAABCDEFGHIJKLMNOP_x', '[redacted key]_x'],
  ['-----BEGIN PGP PRIVATE KEY BLOCK-----\nabc\n-----END PGP PRIVATE KEY BLOCK----- x', '[redacted private key] x'],
])('%s is redacted', (text, shown) => {
  expect(redactShapes(text)).toBe(shown);
});

test.each([
  'https://example.com:8080/a@b',
  'https://example.com:8080/users/@me',
  'https://example.com:/a@b',
  'https://example.com/x:y@z',
  'https://example.com/@scope/package@1.2.3',
  'https://example.com/a:b/c@d?e=f:g@h',
  'npm://registry:@scope/name@1.2',
  'http://[2001:db8::1]/a@b',
  'http://[::1]:8080/a@b',
  'http://{host}:{port}/a@b',
  'http://<host>:<port>/~a@b',
  'mongodb://h1:27017,h2:27017/db?x=a@b',
  'oci://registry.example:5000/image@sha256:abc',
  'file:///C:/Users/a@b',
  'file://C:/Users/a@b',
  'ssh://git@github.com:org/name',
  'see https://a.example:b and mail x@y.z',
  '<a href="https://a.example:x">a@b.c</a>',
  '{"url":"git://a.example:org/x","mail":"a@b.c"}',
  '{\\"url\\":\\"git://a.example:org/x\\",\\"mail\\":\\"a@b.c\\"}',
  'https://a.example:x https://b.example/c@d',
  'https://a.example:x,https://b.example/c@d',
  'task-force_of_the_year-2024 and risk_sk-short',
  'the%20bearer%20of%20bad%20news',
  'Basic%20authentication%20required',
  '[12m a[31mbearer of',
  'disk_AKIAlower and my_eyJ',
])('%s is left as it is', (text) => {
  expect(redactShapes(text)).toBe(text);
});

test.each([
  'a://b:c/"d',
  'a://b:c"d',
  '://b:x/',
  'x"y/',
  '_sk-',
  '_eyJaaaaaaaa.',
  '_rcs_',
  '%3Dsk-',
  '[31m',
  '\u001b[3;',
  '\\u003d',
  'Bearer%20',
  'Bearer%20a%2B',
  '%2B',
  'Basic%20a',
])('a megabyte of %j takes a time that grows with its length alone', (piece) => {
  const text = piece.repeat(Math.ceil(1_000_000 / piece.length));
  const began = performance.now();
  for (const before of ['', 'a://b:c/', 'Bearer ', 'Basic '])
    for (const behind of [' ', '@', '…']) redactShapes(`${before}${text}${behind}`);
  // Where it grew with the square of it, this took minutes.
  expect(performance.now() - began).toBeLessThan(timeLimit(30_000));
});
