import { expect, test } from 'vitest';
import { RepeatList } from '#src/sessions/rules/repeat-list.ts';
import { toSessionRecord } from '#src/sessions/rules/session-record.ts';
import { createSessionState, toolState } from '#src/sessions/rules/session-state.ts';
import { createSessionKind, type StoredSession } from '#src/sessions/session-kind.ts';
import { toFields } from '#src/store/record-store.ts';

const kind = createSessionKind(60_000);

test('a session that was fetched weighs what it weighed where it was written', () => {
  const written = { ...kind.create(), session: createSessionState('first') };
  const streaks = RepeatList.of([
    [1, { failed: 0, same: 1, answer: 7 }],
    [2 ** 53 - 1, { failed: 0, same: 2, answer: 8 }],
  ]);
  for (const tool of ['x', 'y']) written.session.repeats.set(tool, { before: streaks, step: 0, callEnds: new Map() });
  const { set } = kind.changes(written, kind.toSaved(kind.create(), new Map()));
  const fetched = kind.decode(toFields(set));
  const weight = kind.bytes(fetched);
  expect(weight).toBe(kind.bytes(written));
  expect(fetched.session?.repeats.get('x')).toMatchObject({ packed: 2, before: streaks });
  fetched.bytes = 0;
  expect(kind.bytes(fetched)).toBe(weight);
});

/** Changes a few parts of a session as rounds do. */
const change = (stored: StoredSession, seed: number): void => {
  stored.session ??= createSessionState('first');
  const { session, journal } = stored;
  session.rounds += 1;
  const name = `tool_${seed % 5}`;
  const tool = toolState(session, name);
  tool.failures = seed % 3;
  if (seed % 2 === 0) session.callsOf.set(name, seed);
  else session.callsOf.clear();
  if (seed % 4 === 0) session.repeats.delete(name);
  else
    session.repeats.set(name, {
      before: RepeatList.of([[seed, { failed: 1, same: 0, answer: '' }]]),
      step: 0,
      callEnds: new Map(),
    });
  session.namedRounds = seed % 7 === 0 ? [{ id: 'named', step: seed, joinUntil: 9 }] : [];
  journal.counts = seed % 3 === 0 ? [] : [1, 2, 2];
  journal.lines = seed % 3 === 0 ? 0 : 5;
  journal.tail = seed % 5 === 0 ? ['{"refused":1}'] : [];
  journal.isTruncated = seed % 6 === 0;
};

const toPlain = (stored: StoredSession) => ({
  record: toSessionRecord(stored.session ?? createSessionState(''), 0),
  streaks: new Map(Array.from(stored.session?.repeats ?? [], ([name, { before }]) => [name, before])),
  named: stored.session?.namedRounds,
  born: stored.session?.born,
  journal: stored.journal,
  bytes: kind.bytes(stored),
});

test('a known session that is brought up to date is the one that would be fetched, whatever was decided on it in vain', () => {
  const fields = new Map<string, string>();
  const [writer, other] = [kind.create(), kind.create()];
  const saved = kind.toSaved(writer, fields);
  const known = kind.toSaved(other, fields);
  for (let seed = 1; seed <= 210; seed += 1) {
    change(writer, seed);
    const { set, gone } = kind.changes(writer, saved);
    for (const [field, text] of toFields(set)) fields.set(field, text);
    for (const field of gone) fields.delete(field);
    if (seed % 3 !== 0) continue;
    change(other, seed + 1);
    kind.changes(other, known);
    kind.refresh?.(other, known, fields);
    expect(toPlain(other)).toEqual(toPlain(kind.decode(fields)));
    expect(kind.changes(other, known)).toEqual({ set: [], gone: [] });
  }
});

test('of a known session only the fields that others have changed are read again', () => {
  const known = kind.create();
  for (const seed of [1, 2]) change(known, seed);
  const fields = toFields(kind.changes(known, kind.toSaved(kind.create(), new Map())).set);
  const fetched = kind.decode(fields);
  const saved = kind.toSaved(fetched, fields);
  const before = { tools: new Map(fetched.session?.tools), streaks: new Map(fetched.session?.repeats) };
  kind.refresh?.(fetched, saved, new Map([...fields, ['t:tool_1', '[2,0,0,0,"",[]]']]));
  expect(fetched.session?.tools.get('tool_1')?.failures).toBe(2);
  expect(fetched.session?.tools.get('tool_2')).toBe(before.tools.get('tool_2'));
  expect(fetched.session?.repeats.get('tool_1')).toBe(before.streaks.get('tool_1'));
});
