import { startService } from '@recourse/test-support/start-service.ts';
import { createNoAnswerFailure, NoAnswerError } from '@recourse/toolkit-kit/egress/no-answer-error';
import { explainFileErrors } from '@recourse/toolkit-kit/workspace/file-errors';
import { expect, test } from 'vitest';
import { toShortage } from '#src/executor/shortage.ts';
import { defineTool, RetryableToolError, TerminalToolError } from '#src/recourse.ts';
import { readShortage } from '#src/tools/resource-shortage.ts';

const toolOf = (effects: 'read' | 'idempotent' | 'write') =>
  defineTool({ name: effects, description: 'x', effects, input: { type: 'object' }, run: () => null });

const system = (code: string): Error => Object.assign(new Error(`${code}: open`), { code });

const noAnswer = (executed: 'no' | 'maybe') =>
  ({ kind: 'no_answer', reason: 'not_connected', executed, code: 'EMFILE', cause: system('EMFILE') }) as const;

const ofFile = await explainFileErrors({ path: 'a.md', createMissingError: () => new Error('unused') }, () =>
  Promise.reject(system('EMFILE')),
).catch((thrown: unknown) => thrown);

const endOf = (thrown: unknown, effects: 'read' | 'idempotent' | 'write') => {
  const ended = toShortage({ kind: 'threw', thrown }, toolOf(effects));
  if (ended === null || ended.kind === 'success') return null;
  const { code, executed, outcome } = ended.failure;
  return `${code} ${executed} ${outcome}`;
};

test.each<[string, unknown, 'read' | 'idempotent' | 'write', string]>([
  ['no descriptor for a file', system('EMFILE'), 'read', 'overloaded no refused'],
  ['no descriptor on the machine', system('ENFILE'), 'read', 'overloaded no refused'],
  ['no memory', system('ENOMEM'), 'read', 'overloaded no refused'],
  ['no process', system('EAGAIN'), 'read', 'overloaded no refused'],
  ['a write that may have begun', system('ENOMEM'), 'write', 'overloaded maybe unknown'],
  ['an idempotent call that may have begun', system('ENOMEM'), 'idempotent', 'overloaded maybe retry'],
  ['a file that was not opened', ofFile, 'idempotent', 'overloaded no refused'],
  ['a cause', new Error('fetch failed', { cause: system('EMFILE') }), 'read', 'overloaded no refused'],
  ['several addresses', new AggregateError([system('EMFILE')]), 'read', 'overloaded no refused'],
  ['a request not sent', createNoAnswerFailure(noAnswer('no'), 'the site'), 'write', 'overloaded no refused'],
  [
    'a request that broke off',
    createNoAnswerFailure(noAnswer('maybe'), 'the site'),
    'write',
    'overloaded maybe unknown',
  ],
  ['what a client library wraps', new NoAnswerError(noAnswer('no')), 'read', 'overloaded no refused'],
  [
    'a sandbox that was not started',
    new TerminalToolError('No sandbox.', { executed: 'no', cause: readShortage('bwrap: Cannot fork') }),
    'write',
    'overloaded no refused',
  ],
])('the service is to blame for %s', (_what, thrown, effects, end) => {
  expect(endOf(thrown, effects)).toBe(end);
});

const hostile = new Proxy(new Error('x'), {
  get: () => {
    throw new Error('no');
  },
});
const round = new Error('round');
round.cause = round;

test.each([
  ['a file that is not there', system('ENOENT')],
  ['a text', 'EMFILE'],
  ['members that a server may have sent', { code: 'EMFILE' }],
  ['a message', new RetryableToolError('EMFILE')],
  ['an object that throws', hostile],
  ['itself as its cause', round],
])('the service is not to blame for %s', (_what, thrown) => {
  expect(endOf(thrown, 'read')).toBe(null);
});

test('a tool that finds no descriptor is neither charged nor kept from its next callers', async () => {
  let isShort = true;
  const open = defineTool({
    name: 'open',
    description: 'Opens.',
    effects: 'read',
    input: { type: 'object' },
    run: () => {
      if (isShort) throw system('EMFILE');
      return 'opened';
    },
  });
  const service = await startService({ CIRCUIT_FAILURES: '2', SESSION_RETRIES: '1' }, [open]);
  for (let n = 0; n < 6; n += 1) {
    const [result] = await service.call([{ name: 'open', arguments: {} }], { session_id: 's' });
    expect(result).toMatchObject({
      success: false,
      executed: 'no',
      error: { code: 'overloaded', retry_after_ms: 2000 },
    });
    expect(JSON.stringify(result)).toContain('the service has run out of file descriptors');
  }
  isShort = false;
  expect(await service.call([{ name: 'open', arguments: {} }], { session_id: 's' })).toMatchObject([{ success: true }]);
  await service.stop();
});
