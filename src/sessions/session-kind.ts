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
import { createSessionJournal, type SessionJournal, takeAdded } from './session-journal.ts';

/** A session as it is stored. */
export type StoredSession = {
  /** null: there is none. */
  session: SessionState | null;
  readonly journal: SessionJournal;
  /** What it takes of the heap; 0: to be counted. */
  bytes: number;
};

/** What was saved last: texts of fields, and the streaks themselves, which the rules replace as a whole. */
type SavedSession = {
  readonly texts: Map<string, string>;
  readonly streaks: Map<string, ToolStreaks>;
};

/**
 * Sessions as records. A field a tool for its budget (`t:NAME`) and one for its streaks (`s:NAME`), for they grow apart: the rest
 * is small (`h`: format, life, counts; `n`: named rounds; `c`: calls of limited tools; `j`: lines of the list's elements; `q`: lines
 * of refused calls; `o`: lines were left out).
 */
export const createSessionKind = (ttlMs: number): Kind<StoredSession, SavedSession> => ({
  name: 'session',
  memory: { records: 'sessions', lists: 'journals' },
  ttlMs,
  create: () => ({ session: null, journal: createSessionJournal(), bytes: 0 }),
  decode,
  toSaved: ({ session }, fields) => ({ texts: new Map(fields), streaks: new Map(session?.streaks) }),
  changes: (stored, saved) => {
    const changes: Changes = { set: [], gone: [] };
    if (stored.session !== null) findChanges(stored.session, stored.journal, saved, changes);
    return changes;
  },
  takeAdded: ({ journal }) => takeAdded(journal),
  toKeep: ({ journal }) => journal.counts.length,
  isEmpty: ({ session }) => session === null,
  bytes: (stored) => {
    if (stored.bytes === 0 && stored.session !== null) stored.bytes = toSessionBytes(stored.session);
    return stored.bytes;
  },
});

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
  put('q', journal.tail.join('\n'));
  put('o', journal.isTruncated ? '1' : '');
  for (const [name, tool] of session.tools) put(`t:${name}`, encodeTool(tool));
  for (const [name, ofTool] of session.streaks) {
    if (streaks.get(name) === ofTool) continue;
    set.push(`s:${name}`, encodeStreaks(ofTool));
    streaks.set(name, ofTool);
  }
  if (streaks.size === session.streaks.size) return;
  for (const name of [...streaks.keys()]) {
    if (session.streaks.has(name)) continue;
    gone.push(`s:${name}`);
    streaks.delete(name);
  }
};

const decode = (fields: Fields): StoredSession => {
  const session = decodeHead(fields.get('h') ?? '');
  const [known, named] = readJson(Named, fields.get('n')) ?? ['', []];
  session.knownRound = known;
  session.namedRounds = named.map(([id, step, joinUntil]) => ({ id, step, joinUntil }));
  for (const [name, count] of readJson(Counted, fields.get('c')) ?? []) session.callsOf.set(name, count);
  decodeTools(session, fields);
  const counts = decodeCounts(fields.get('j') ?? '');
  return {
    session,
    journal: {
      counts,
      lines: counts.reduce((sum, count) => sum + count, 0),
      tail: (fields.get('q') ?? '').split('\n').filter((line) => line.startsWith('{')),
      added: [],
      isTruncated: fields.has('o'),
    },
    bytes: 0,
  };
};

/** What a field says; null where it is not there or damaged: then it says nothing, and the other fields count. */
const readJson = <Value>(schema: z.ZodType<Value>, text: string | undefined): Value | null => {
  if (text === undefined) return null;
  try {
    return schema.safeParse(JSON.parse(text)).data ?? null;
  } catch (_damaged) {
    return null;
  }
};

const decodeTools = ({ tools, streaks }: SessionState, fields: Fields): void => {
  for (const [field, text] of fields) {
    const tool = field.startsWith('t:') ? decodeTool(text) : null;
    if (tool !== null) tools.set(field.slice(2), tool);
    else if (field.startsWith('s:')) streaks.set(field.slice(2), decodeStreaks(text));
  }
};

const HEAD = /^1 (\d{1,15}) (\d{1,15}) (\d{1,15}) (.*)$/s;

const decodeHead = (text: string): SessionState => {
  const [, rounds = '', calls = '', lost = '', born = ''] = HEAD.exec(text) ?? [];
  const session = createSessionState(born);
  session.rounds = Number(rounds);
  session.calls = Number(calls);
  session.lost = Number(lost);
  return session;
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

const decodeStreaks = (text: string): ToolStreaks => {
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
