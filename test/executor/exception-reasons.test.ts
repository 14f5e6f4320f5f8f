import { once } from 'node:events';
import { connect } from 'node:net';
import { findClosedPort } from '@recourse/test-support/http-target.ts';
import { expect, test } from 'vitest';
import { classifyThrown } from '#src/executor/outcome.ts';
import { RetryableToolError } from '#src/tools/tool-errors.ts';

const tell = (thrown: unknown): string => classifyThrown(thrown, { name: 'x', effects: 'read' }, 'on').message;

test('a refused connection to a host of two addresses says which refused', async () => {
  const port = await findClosedPort();
  const addresses = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }));
  const socket = connect({ host: 'two.example', port, lookup: (_host, _options, done) => done(null, addresses) });
  const [error] = await once(socket, 'error').catch((thrown: unknown) => [thrown]);
  const refused = (address: string) => `connect ECONNREFUSED ${address}:${port}`;
  expect(tell(error)).toBe(`AggregateError: ECONNREFUSED (${refused('127.0.0.1')}; ${refused('127.0.0.2')})`);
});

test('a failed fetch says why', async () => {
  const port = await findClosedPort();
  const thrown = await fetch(`http://127.0.0.1:${port}`).catch((error: unknown) => error);
  expect(tell(thrown)).toBe(`TypeError: fetch failed (connect ECONNREFUSED 127.0.0.1:${port})`);
});

const circular = new Error('round');
circular.cause = circular;
const deep = ['e', 'd', 'c', 'b', 'a'].reduce<Error | undefined>(
  (cause, name) => new Error(name, cause === undefined ? {} : { cause }),
  undefined,
);

test.each<[string, unknown, string]>([
  ['only a code', Object.assign(new Error(''), { code: 'EPIPE' }), 'Error: EPIPE'],
  ['only a cause', new Error('', { cause: new Error('reset') }), 'Error: reset'],
  ['only members', Object.assign(new Error(''), { status: 404 }), 'Error: {"status":404}'],
  ['a cause that is a text', new Error('no', { cause: 'the disk is full' }), 'Error: no (the disk is full)'],
  ['a cause that it says itself', new Error('no: reset', { cause: new Error('reset') }), 'Error: no: reset'],
  ['a cause that is not an exception', new Error('no', { cause: { id: 7 } }), 'Error: no'],
  ['itself as its cause', circular, 'Error: round'],
  ['causes without end', deep, 'Error: a (b (c (d)))'],
  [
    'what Promise.any gives',
    new AggregateError([new Error('one'), new Error('two'), new Error('one')], 'All promises were rejected'),
    'AggregateError: All promises were rejected (one; two)',
  ],
  [
    'a thousand errors',
    new AggregateError(Array.from({ length: 1000 }, (_, at) => new Error(`e${at}`))),
    'AggregateError: e0; e1; e2',
  ],
  ['suppressed errors', new SuppressedError(new Error('close'), new Error('read')), 'SuppressedError: close; read'],
  ['nothing at all', new Error(''), "Tool 'x' failed without a message."],
  // Written for whoever reads the message: its cause is for the log.
  ['a name of its own', Object.assign(new Error('no', { cause: new Error('/etc') }), { name: 'Gone' }), 'Gone: no'],
  [
    'only a cause, and a name of its own',
    Object.assign(new Error('', { cause: new Error('reset') }), { name: 'Gone' }),
    'Gone: reset',
  ],
  ['a class of its own', new RetryableToolError('No user John.', { cause: new Error('secret') }), 'No user John.'],
])('an exception with %s has its reasons in the message', (_name, thrown, message) => {
  expect(tell(thrown)).toBe(message);
});

test.each<[string, unknown, string]>([
  ['a code', { code: 'NOT_FOUND', reason: 'no user 7' }, 'Error: {"code":"NOT_FOUND","reason":"no user 7"}'],
  ['an error and a status', { error: 'no user 7', status: 404 }, 'Error: {"error":"no user 7","status":404}'],
  ['a list of errors', { errors: ['one', 'two'], id: 7 }, 'Error: {"errors":["one","two"],"id":7}'],
  [
    'an exception',
    { error: new TypeError('no user'), status: 404 },
    'Error: {"error":{"name":"TypeError","message":"no user"},"status":404}',
  ],
  [
    'a message that is an object',
    { message: { text: 'no' }, code: 'E1' },
    'Error: {"message":{"text":"no"},"code":"E1"}',
  ],
  ['a message', { message: 'no user 7', code: 'NOT_FOUND' }, 'Error: no user 7'],
  ['nothing', {}, "Tool 'x' failed without a message."],
])('a thrown object with %s is told whole, or by its message', (_name, thrown, message) => {
  expect(tell(thrown)).toBe(message);
});

test('reasons are no longer than a message may be', () => {
  const long = new Error('no', { cause: new Error('x'.repeat(100_000)) });
  expect(tell(long).length).toBeLessThan(10_000);
});
