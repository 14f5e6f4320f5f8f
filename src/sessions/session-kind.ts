import * as z from 'zod';
import type { Streak } from '../executor/session-store.ts';
import type { Fields, Kind } from '../store/record-store.ts';
import type { ToolStreaks } from './rules/loop-guard.ts';
import {
  createSessionState,
  type SessionState,
  type ToolState,
  toSessionBytes,
  VERDICTS,
} from './rules/session-state.ts';
import { createSessionJournal, type SessionJournal, takeAdded, toTailBytes } from './session-journal.ts';

/** A session as it is stored. */
export type StoredSession = {
  /** null: there is none. */
  session: SessionState | null;
  readonly journal: SessionJournal;
  /** What the session takes of the heap; 0: to be counted. */
  bytes: number;
};

/**
 * What was saved last: texts of fields, and the streaks and refused lines themselves, which are replaced as a whole. Of streaks that
 * this process changed, and of these lines, the text is not kept: it is "".
 */
type SavedSession = {
  readonly texts: Map<string, string>;
  readonly streaks: Map<string, ToolStreaks>;
  tail: readonly string[];
};

/**
 * Sessions as records. A field a tool for its budget (`t:NAME`) and one for its streaks (`s:NAME`), for they grow apart: the rest
 * is small (`h`: format, life, counts; `n`: named rounds; `c`: calls of limited tools; `j`: lines of the list's elements; `q`: lines
 * of refused calls; `o`: lines were left out).
 */
export const createSessionKind = (ttlMs: number): Kind<StoredSession, SavedSession> => ({
  name: 'session',
  operations: { short: 'admit', long: 'settle' },
  memory: { records: 'sessions', lists: 'journals' },
  knownPart: 0.45,
  ttlMs,
  create: () => ({ session: null, journal: createSessionJournal(), bytes: 0 }),
  decode: (fields) => {
    const stored: StoredSession = { session: null, journal: createSessionJournal(), bytes: 0 };
    refresh(stored, { texts: new Map(), streaks: new Map(), tail: [] }, fields);
    return stored;
  },
  refresh,
  toSaved: ({ session, journal: { tail } }, fields) => {
    const texts = new Map(fields);
    forgetTailText(texts);
    return { texts, streaks: new Map(session?.streaks), tail };
  },
  changes: (stored, saved) => {
    const changes: Changes = { set: [], gone: [] };
    if (stored.session === null) return changes;
    findChanges(stored.session, stored.journal, saved, changes);
    if (stored.journal.tail !== saved.tail) changeTail(stored.journal.tail, saved, changes);
    return changes;
  },
  takeAdded: ({ journal }) => takeAdded(journal),
  toKeep: ({ journal }) => journal.counts.length,
  isEmpty: ({ session }) => session === null,
  bytes: (stored) => {
    if (stored.bytes === 0 && stored.session !== null) stored.bytes = toSessionBytes(stored.session);
    return stored.journal.tail.length === 0 ? stored.bytes : stored.bytes + toTailBytes(stored.journal);
  },
});

const TAIL = 'q';

type Changes = { readonly set: string[]; readonly gone: string[] };

const findChanges = (
  session: SessionState,
  journal: SessionJournal,
  { texts, streaks }: SavedSession,
  { set, gone }: Changes,
): void => {
  const put = (field: string, text: string): void => {
    if (text === (texts.get(field) ?? '')) return;
    texts.set(field, text);
    if (text === '') gone.push(field);
    else set.push(field, text);
  };
  put('h', `1 ${session.rounds} ${session.calls} ${session.lost} ${session.born}`);
  put('n', encodeNamed(session));
  put('c', session.callsOf.size === 0 ? '' : JSON.stringify([...session.callsOf]));
  put('j', encodeCounts(journal.counts));
  put('o', journal.isTruncated ? '1' : '');
  for (const [name, tool] of session.tools) put(`t:${name}`, encodeTool(tool));
  for (const [name, ofTool] of session.streaks) {
    if (streaks.get(name) === ofTool) continue;
    const field = `s:${name}`;
    set.push(field, encodeStreaks(ofTool));
    texts.set(field, '');
    streaks.set(name, ofTool);
  }
  if (streaks.size === session.streaks.size) return;
  for (const name of [...streaks.keys()]) {
    if (session.streaks.has(name)) continue;
    gone.push(`s:${name}`);
    texts.set(`s:${name}`, '');
    streaks.delete(name);
  }
};

const changeTail = (tail: SavedSession['tail'], saved: SavedSession, { set, gone }: Changes): void => {
  if (tail.length === 0) gone.push(TAIL);
  else set.push(TAIL, tail.join('\n'));
  saved.texts.set(TAIL, '');
  saved.tail = tail;
};

/** Reads the fields whose texts are not those that were saved: of many tools a round changes one or two. */
const refresh = (stored: StoredSession, saved: SavedSession, fields: Fields): void => {
  readFields(stored, saved, fields);
  saved.tail = stored.journal.tail;
  forgetTailText(saved.texts);
};

const forgetTailText = (texts: SavedSession['texts']): void => {
  if (texts.has(TAIL)) texts.set(TAIL, '');
};

const readFields = (stored: StoredSession, { texts, streaks }: SavedSession, fields: Fields): void => {
  const session = { ...(stored.session ?? createSessionState('')), ...decodeHead(fields.get('h') ?? '') };
  stored.session = session;
  stored.bytes = 0;
  const read = (field: string, text: string): void => {
    const name = field.slice(2);
    if (field.startsWith('t:')) setOrDelete(session.tools, name, decodeTool(text));
    else if (!field.startsWith('s:')) readPart(session, stored.journal, field, text);
    else {
      const ofTool = decodeStreaks(text);
      setOrDelete(session.streaks, name, ofTool);
      setOrDelete(streaks, name, ofTool);
    }
  };
  for (const [field, text] of fields) {
    if (texts.get(field) === text) continue;
    texts.set(field, text);
    read(field, text);
  }
  if (texts.size === fields.size) return;
  for (const field of texts.keys()) {
    if (fields.has(field)) continue;
    texts.delete(field);
    read(field, '');
  }
};

const setOrDelete = <Value>(values: Map<string, Value>, name: string, value: Value | null): void => {
  if (value === null) values.delete(name);
  else values.set(name, value);
};

const readPart = (session: SessionState, journal: SessionJournal, field: string, text: string): void => {
  switch (field) {
    case 'n': {
      const [known, named] = readJson(Named, text) ?? ['', []];
      session.knownRound = known;
      session.namedRounds = named.map(([id, step, joinUntil]) => ({ id, step, joinUntil }));
      return;
    }
    case 'c':
      session.callsOf.clear();
      for (const [name, count] of readJson(Counted, text) ?? []) session.callsOf.set(name, count);
      return;
    case 'j':
      journal.counts = decodeCounts(text);
      journal.lines = journal.counts.reduce((sum, count) => sum + count, 0);
      return;
    case 'q':
      journal.tail = text.split('\n').filter((line) => line.startsWith('{'));
      return;
    case 'o':
      journal.isTruncated = text !== '';
  }
};

/** What a field says; null where it is not there or damaged: then it says nothing, and the other fields count. */
const readJson = <Value>(schema: z.ZodType<Value>, text: string): Value | null => {
  if (text === '') return null;
  try {
    return schema.safeParse(JSON.parse(text)).data ?? null;
  } catch (_damaged) {
    return null;
  }
};

const HEAD = /^1 (\d{1,15}) (\d{1,15}) (\d{1,15}) (.*)$/s;

const decodeHead = (text: string): Pick<SessionState, 'rounds' | 'calls' | 'lost' | 'born'> => {
  const [, rounds = '', calls = '', lost = '', born = ''] = HEAD.exec(text) ?? [];
  return { rounds: Number(rounds), calls: Number(calls), lost: Number(lost), born };
};

const Count = z.int().nonnegative();
const Named = z.tuple([z.string(), z.array(z.tuple([z.string(), Count, z.number()]))]);
const Counted = z.array(z.tuple([z.string(), Count]));

const encodeNamed = ({ knownRound, namedRounds }: SessionState): string =>
  knownRound === '' && namedRounds.length === 0
    ? ''
    : JSON.stringify([knownRound, namedRounds.map(({ id, step, joinUntil }) => [id, step, joinUntil])]);

// Runs: elements of a session mostly have equal numbers of lines.
const encodeCounts = (counts: readonly number[]): string => {
  let text = '';
  for (let at = 0; at < counts.length; ) {
    const count = counts[at];
    let end = at + 1;
    while (end < counts.length && counts[end] === count) end += 1;
    text += `${text === '' ? '' : ' '}${count}x${end - at}`;
    at = end;
  }
  return text;
};

const decodeCounts = (text: string): number[] =>
  text.split(' ').flatMap((run) => {
    const [, count = '', times = ''] = RUN.exec(run) ?? [];
    return Array.from({ length: Number(times) }, () => Number(count));
  });

const RUN = /^(\d{1,4})x(\d{1,4})$/;

const Claim = z.object({
  id: z.string(),
  round: z.string(),
  retry: z.boolean(),
  epoch: Count,
  joinUntil: z.number(),
  lease: z.number(),
  running: Count,
  verdict: z.enum(VERDICTS),
});
const Tool = z.tuple([Count, Count, Count, z.number(), z.string(), z.array(Claim)]);

const encodeTool = ({ failures, used, epoch, failedAt, lastError, claims }: ToolState): string =>
  JSON.stringify([failures, used, epoch, failedAt, lastError, claims]);

const decodeTool = (text: string): ToolState | null => {
  const parsed = readJson(Tool, text);
  if (parsed === null) return null;
  const [failures, used, epoch, failedAt, lastError, claims] = parsed;
  return { failures, used, epoch, failedAt, lastError, claims };
};

// A print has 53 bits, a double holds it. Three doubles a print: the print, its answer (-1: none), failed * 2^20 + same.
const HIGH = 2 ** 20;
const DOUBLE = 8;
// In base64: 24 bytes are 32 characters.
const CHARACTERS = 4 * DOUBLE;

const encodeStreaks = ({ before, step, endings }: ToolStreaks): string => {
  if (step !== 0) return `@${JSON.stringify([step, [...before], [...endings]])}`;
  const bytes = Buffer.allocUnsafe(3 * DOUBLE * before.size);
  let at = 0;
  for (const [print, { failed, same, answer }] of before) {
    at = bytes.writeDoubleLE(print, at);
    at = bytes.writeDoubleLE(answer === '' ? -1 : answer, at);
    at = bytes.writeDoubleLE(failed * HIGH + same, at);
  }
  return bytes.toString('base64');
};

const Answer = z.union([z.number(), z.literal('')]);
const OpenStreaks = z.tuple([
  z.number(),
  z.array(z.tuple([z.number(), z.object({ failed: z.number(), same: z.number(), answer: Answer })])),
  z.array(
    z.tuple([
      z.number(),
      z.object({ ending: z.enum(['failed', 'answered', 'looped', 'other', 'not_run']), answer: Answer }),
    ]),
  ),
]);

const decodeStreaks = (text: string): ToolStreaks | null => {
  if (text === '') return null;
  if (!text.startsWith('@')) return new PackedStreaks(text);
  const [step, before, endings] = readJson(OpenStreaks, text.slice(1)) ?? [0, [], []];
  return { step, before: new Map(before), endings: new Map(endings) };
};

const NO_ENDINGS: ToolStreaks['endings'] = new Map();

/** Read when they are asked for: a round looks at its own tools only. */
class PackedStreaks implements ToolStreaks {
  readonly step = 0;
  readonly endings = NO_ENDINGS;
  readonly #text: string;
  #before: ToolStreaks['before'] | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  get packed(): number {
    return Math.floor(this.#text.length / CHARACTERS);
  }

  get before(): ToolStreaks['before'] {
    this.#before ??= decodePrints(this.#text);
    return this.#before;
  }
}

const decodePrints = (text: string): ToolStreaks['before'] => {
  const bytes = Buffer.from(text, 'base64');
  const before = new Map<number, Streak>();
  for (let at = 0; at + 3 * DOUBLE <= bytes.length; at += 3 * DOUBLE) {
    const answer = bytes.readDoubleLE(at + DOUBLE);
    const counts = bytes.readDoubleLE(at + 2 * DOUBLE);
    const failed = Math.floor(counts / HIGH);
    if (Number.isSafeInteger(counts) && counts >= 0)
      before.set(bytes.readDoubleLE(at), { failed, same: counts - failed * HIGH, answer: answer === -1 ? '' : answer });
  }
  return before;
};
