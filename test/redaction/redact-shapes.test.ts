import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test } from 'vitest';
import { findShapes, replaceFound } from '#src/redaction/find-shapes.ts';
import { createRedactor } from '#src/redaction/service-redactor.ts';

// Put together here, so that whoever scans this file for keys finds none.
const A = 'abcdefghijklmnopqrstuvwxyz0123456789'.repeat(2);
const UPPER = 'ABCDEFGHIJKLMNOP';

const redactShapes = (text: string): string => replaceFound(text, findShapes(text));

const cutRedacted = (text: string, limit: number): string => createRedactor({ secrets: [] }).cut(text, limit, 'log');

const SHAPES: readonly (readonly [shape: string, secret: string, shown: string])[] = [
  ['a password in a URL', 'postgres://bob:hunter2@db/x', 'postgres://[redacted]@db/x'],
  ['a password alone in a URL', 'redis://:hunter2@db/x', 'redis://[redacted]@db/x'],
  ['a password with an @', 'amqp://bob:hun@ter2@db/x', 'amqp://[redacted]@db/x'],
  ['a Bearer token', 'authorization: bearer abcdefgh12345678', 'authorization: bearer [redacted]'],
  ['a Basic credential', 'Authorization: Basic dXNlcjpwYXNz', 'Authorization: Basic [redacted]'],
  ['an OpenAI or Anthropic key', `sk-ant-${A}`, '[redacted key]'],
  ['a Stripe key', `sk_live_${A}`, '[redacted key]'],
  ['a Stripe webhook secret', `whsec_${A}`, '[redacted key]'],
  ['an AWS key id', `AKIA${UPPER}`, '[redacted key]'],
  ['a temporary AWS key id', `ASIA${UPPER}`, '[redacted key]'],
  ['a Google key', `AIza${A.slice(0, 35)}`, '[redacted key]'],
  ['a GitHub token', `ghp_${A.slice(0, 36)}`, '[redacted key]'],
  ['a fine-grained GitHub token', `github_pat_${A}`, '[redacted key]'],
  ['a GitLab token', `glpat-${A}`, '[redacted key]'],
  ['an access token of Google', `ya29.a0${A}`, '[redacted key]'],
  ['a Slack token', `xoxb-${A}`, '[redacted key]'],
  ['a key of this service', `rcs_${A.slice(0, 43)}`, '[redacted key]'],
  ['a JSON Web Token', 'eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl', '[redacted token]'],
  ['a private key', '-----BEGIN EC PRIVATE KEY-----\nMIIB\n-----END EC PRIVATE KEY-----', '[redacted private key]'],
  ['a private key without an end', '-----BEGIN PRIVATE KEY-----\nMIIB', '[redacted private key]'],
];

test.each(SHAPES)('%s is redacted', (_shape, secret, shown) => {
  expect(redactShapes(secret)).toBe(shown);
  expect(redactShapes(`it is "${secret}"`)).toMatch(/^it is "/);
  expect(redactShapes(`it is '${secret}`)).toBe(`it is '${shown}`);
  // As in the preview of arguments, which is JSON in a text.
  expect(redactShapes(`it is \\n${secret}`)).toBe(`it is \\n${shown}`);
});

test.each([
  'HTTP 401: Basic authentication required',
  'The bearer of bad news',
  'see https://example.com:8080/a@b and task-force-of-the-year-2024',
  'eyJpZCI6MTIzNDU2 is not a cursor',
  'at https://host:443…',
  'sk-short AKIA xoxo rcs_short',
])('%j is left as it is', (text) => {
  expect(redactShapes(text)).toBe(text);
});

test('what is cut loses the shape that the cut goes through', () => {
  for (let before = 60; before < 100; before += 1) {
    const cut = cutRedacted(`${'x'.repeat(before)} https://bob:hunter2hunter2@db.example.com/ and more`, 100);
    expect(cut).not.toContain('hun');
    expect(cut.length).toBeLessThanOrEqual(100);
  }
});

test('a secret that the cut goes through is replaced whole, and nothing behind the cut moves into sight', () => {
  const token = `Bearer ${'x'.repeat(85)} `;
  expect(cutRedacted(`${token}https://bob:${'y'.repeat(50)}@db/`, 95)).toBe('Bearer [redacted] ht…');
  expect(cutRedacted(`${'z'.repeat(90)} sk-${A} and more`, 104)).toBe(`${'z'.repeat(90)} …`);
  expect(cutRedacted(`${'z'.repeat(90)} sk-${A} and more`, 120)).toBe(`${'z'.repeat(90)} [redacted key]…`);
});

test('what is short enough is redacted and not cut', () => {
  expect(cutRedacted('postgres://bob:hunter2@db/x', 100)).toBe('postgres://[redacted]@db/x');
});

const BOTHERSOME: readonly string[] = [
  'a.',
  'a',
  ' ',
  '://',
  'a://b:',
  'a://a',
  'Bearer ',
  'Bearer  ',
  'Basic a',
  'sk-',
  'sk-aaaaaaaaaaaaaaa ',
  'eyJaaaaaaaa-',
  'eyJaaaaaaaa.',
  'eyJaaaaaaaa.eyJaaaaaaa ',
  '-----BEGIN ',
  '-----BEGIN PRIVATE KEY-----',
  'xox',
  'xoxb-sk-rcs_',
  'rcs_-',
  '://a:1…',
  '\\neyJ',
  'a+a-a.',
];

test.each(BOTHERSOME)('a megabyte of %j takes a time that grows with its length alone', (piece) => {
  const text = piece.repeat(Math.ceil(1_000_000 / piece.length));
  const began = performance.now();
  redactShapes(`${text} `);
  redactShapes(`${text}…`);
  cutRedacted(`sk-abcdefghijklmnopqrst ${text} `, 200_000);
  // Where it grew with the square of it, this took minutes.
  expect(performance.now() - began).toBeLessThan(timeLimit(15_000));
});
