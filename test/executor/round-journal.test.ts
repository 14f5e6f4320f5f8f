import { createSubject, now, settings } from '@recourse/test-support/executor-lab.ts';
import { createMemoryKeyedStore } from '@recourse/test-support/idempotency-stores-under-test.ts';
import { createMemorySessionStore } from '@recourse/test-support/memory-sessions.ts';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { createUnpackRound } from '#src/executor/journal.ts';
import type { RedactedIn } from '#src/executor/redactor.ts';
import type { RoundJournal, SessionStore } from '#src/executor/session-store.ts';
import { createRedactor } from '#src/redaction/service-redactor.ts';
import { defineTool } from '#src/tools/define-tool.ts';
import { TerminalToolError } from '#src/tools/tool-errors.ts';

const read = defineTool({
  name: 'read',
  description: 'Reads.',
  effects: 'read',
  input: z.looseObject({ fails: z.boolean().optional() }),
  run: ({ fails }) => {
    if (fails === true) throw new TerminalToolError('no');
    return 'x';
  },
});
const hide = defineTool({
  name: 'hide',
  description: 'Hides.',
  effects: 'read',
  input: z.object({ q: z.string().meta({ sensitive: true }), n: z.number() }),
  run: () => 'x',
});

const SECRET = 'correct horse battery staple';

/** The journal that a batch of these calls settles with. */
const journalOf = async (calls: readonly unknown[]) => {
  const seen: RedactedIn[] = [];
  const redactor = createRedactor({ secrets: [SECRET], onRedacted: (place) => void seen.push(place) });
  const memory = createMemorySessionStore({ mode: 'redis', settings, memory: roomyMemory(), now });
  let journal: RoundJournal | null = null;
  const sessions: SessionStore = {
    ...memory,
    admit: async (round) => {
      const admission = await memory.admit(round);
      return {
        ...admission,
        ticketOf: (tool) => admission.ticketOf(tool),
        addLate: (json) => admission.addLate(json),
        settle: (report) => {
          journal = report.journal;
          return admission.settle(report);
        },
      };
    },
  };
  const { executor } = createSubject([read, hide], sessions, createMemoryKeyedStore({ now }), redactor);
  await executor.executeBatch({
    requestId: 'r1',
    batchId: 'b1',
    tenant: 'test',
    key: null,
    traceId: null,
    trace: null,
    listener: null,
    form: 'calls',
    reading: null,
    memory: null,
    caller: 'test',
    mayUse: () => true,
    sessionKey: 's',
    roundId: null,
    calls,
    body: { source: JSON.stringify({ session_id: 's', calls }) },
    idempotency: null,
    order: 'parallel',
    onError: 'continue',
    deadlineMs: 10_000,
    client: { isGone: () => false, whenGone: () => () => undefined },
  });
  return { journal: z.custom<RoundJournal>().parse(journal), redactor, seen };
};

const lineOf = async (given: unknown) => {
  const { journal } = await journalOf([{ id: 'a', name: 'read', arguments: given }]);
  return journal.render().map(({ tool, json }) => ({ tool, line: JSON.parse(json) }));
};

test('a line is rendered from the packed round, byte for byte', async () => {
  const { journal } = await journalOf([{ id: 'a', name: 'read', arguments: { b: 1, a: 'x' } }]);
  expect(journal.lines).toBe(1);
  expect(journal.pack()).not.toContain('"s"');
  const [line] = journal.render();
  expect(line?.tool).toBe('read');
  expect(line?.json.replace(/"time":"[^"]+"|"duration_ms":[\d.]+/g, '-')).toBe(
    '{"step":1,-,"request_id":"r1","index":0,"id":"a","tool":"read","name":"read",' +
      '"fingerprint":"f7556c7596ff3c5312460e5fffac84b817c491703abcba5124fa1b9dfb2cbd2b",' +
      '"arguments":"{\\"a\\":\\"x\\",\\"b\\":1}","success":true,"outcome":"success","executed":"yes",' +
      '"code":null,"fault":null,"message":"",-}',
  );
});

test.each([
  ['a text of an object', '{"b":1e0,"a":"x"}', '{"a":"x","b":1}'],
  ['blank', ' ', '{}'],
  ['left out', undefined, '{}'],
  ['null', null, '{}'],
  ['no JSON', '{"b":', '{"b":'],
  ['a list', [1, { z: 1, a: 2 }], '[1,{"a":2,"z":1}]'],
])('arguments that are %s are shown', async (_what, given, shown) => {
  expect(await lineOf(given)).toMatchObject([{ tool: 'read', line: { arguments: shown } }]);
});

test.each([
  ['a registered value', { q: SECRET }, '[redacted]'],
  ['the shape of one', { q: 'sk-abcdefghijklmnopqrstuv' }, '[redacted key]'],
])('a round with %s is redacted at once, counted once, and not again when it is read', async (_what, given, shown) => {
  const { journal, seen } = await journalOf([{ name: 'read', arguments: given }]);
  expect(seen).toEqual(['journal']);
  expect(journal.render()[0]?.json).toContain(shown);
  expect(journal.render()[0]?.json).not.toMatch(/correct horse|abcdefghijkl/);
  expect(seen).toEqual(['journal']);
});

test('a value that is registered after the round is redacted when the round is read', async () => {
  const { journal, redactor } = await journalOf([{ name: 'read', arguments: { q: 'battery staple horse' } }]);
  redactor.register(['battery staple horse']);
  expect(journal.render()[0]?.json).toContain('{\\"q\\":\\"[redacted]\\"}');
});

test('a packed round is read with the secrets of its reader', async () => {
  const { journal } = await journalOf([{ name: 'read', arguments: { q: 'battery staple horse' } }]);
  const unpack = createUnpackRound(createRedactor({ secrets: ['battery staple horse'] }));
  expect(unpack(journal.pack() ?? '')[0]?.json).toContain('{\\"q\\":\\"[redacted]\\"}');
});

test('what a schema marks as sensitive is hidden', async () => {
  const { journal } = await journalOf([{ name: 'hide', arguments: { q: 'mine', n: 1 } }]);
  expect(journal.render()[0]?.json).toContain('"arguments":"{\\"n\\":1,\\"q\\":\\"(hidden)\\"}"');
});

test.each([
  ['holds a registered value', 'read', { q: SECRET }],
  ['holds one with escapes in a text', 'read', '{"q":"\\u0073k-abcdefghijklmnopqrstuv"}'],
  ['holds the shape of a secret', 'read', { q: 'sk-abcdefghijklmnopqrstuv' }],
  ['has arguments that are marked as sensitive', 'hide', { q: 'mine', n: 1 }],
  ['failed', 'read', { fails: true }],
  ['cannot be read', 'read', '{"q":'],
  ['is longer than a line', 'read', { q: 'x'.repeat(1000) }],
])('a round is not packed whose call %s', async (_what, name, given) => {
  expect((await journalOf([{ name, arguments: given }])).journal.pack()).toBe(null);
});
