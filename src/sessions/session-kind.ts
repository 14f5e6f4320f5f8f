import * as z from 'zod';
import { parseJson } from '../json/parse-json.ts';
import type { Fields, Kind } from '../store/record-store.ts';
import { NO_CALL_ENDS, type ToolRepeats } from './rules/loop-guard.ts';
import { RepeatList } from './rules/repeat-list.ts';
import { weighSession } from './rules/session-record.ts';
import { createSessionState, type SessionState, type ToolState, VERDICTS } from './rules/session-state.ts';
import { createSessionJournal, type SessionJournal, takeAdded, weighTail } from './session-journal.ts';

/** A session as it is stored. */
export type StoredSession = {
  /** null: there is none. */
  session: SessionState | null;
  readonly journal: SessionJournal;
  /** What the session takes of the heap; 0: to be counted. */
  bytes: number;
};

/** Fields as they were saved last: texts; of repeats and refused lines, whose texts are long, the value itself, which is never changed. */
type Saved = Map<string, string | ToolRepeats | readonly string[]>;

/**
 * Sessions as records. A field a tool for its budget (`t:NAME`) and one for its repeats (`s:NAME`), for they grow apart: the rest
 * is small (`h`: format, life, counts; `n`: named rounds; `c`: calls of limited tools; `j`: lines of the list's elements; `q`: lines
 * of refused calls; `o`: lines were left out).
 */
export const createSessionKind = (ttlMs: number): Kind<StoredSession, Saved> => ({
  name: 'session',
  operations: { short: 'admit', long: 'settle' },
  memory: { records: 'sessions', lists: 'journals' },
  knownPart: 0.45,
  ttlMs,
  create: createStored,
  decode: (fields) => {
    const stored = createStored();
    refresh(stored, new Map(), fields);
    return stored;
  },
  refresh,
  toSaved: ({ session, journal }, fields) => {
    const saved: Saved = new Map();
    for (const [field, text] of fields) if (OWN.test(field)) saved.set(field, text);
    for (const [name, ofTool] of session?.repeats ?? []) saved.set(`s:${name}`, ofTool);
    if (journal.tail.length > 0) saved.set('q', journal.tail);
    return saved;
  },
  changes: ({ session, journal }, saved) => {
    const changes = new Changes(saved);
    if (session === null) return changes;
    changes.put('h', `1 ${session.rounds} ${session.calls} ${session.lost} ${session.born}`);
    changes.put('n', encodeNamed(session));
    changes.put('c', encodeCalls(session));
    changes.put('j', encodeCounts(journal.counts));
    changes.put('o', journal.isTruncated ? '1' : '');
    changes.putValue('q', journal.tail, encodeTail);
    for (const [name, tool] of session.tools) changes.put(`t:${name}`, encodeTool(tool));
    for (const [name, ofTool] of session.repeats) changes.putValue(`s:${name}`, ofTool, encodeRepeats);
    changes.dropRepeats(session.repeats);
    return changes;
  },
  takeAdded: ({ journal }) => takeAdded(journal),
  toKeep: ({ journal }) => journal.counts.length,
  isEmpty: ({ session }) => session === null,
  bytes: (stored) => {
    if (stored.bytes === 0 && stored.session !== null) stored.bytes = weighSession(stored.session);
    return stored.journal.tail.length === 0 ? stored.bytes : stored.bytes + weighTail(stored.journal);
  },
});

/** The fields of a session that differ from those saved last, which are brought up to date. An empty text is no field. */
class Changes {
  readonly set: string[] = [];
  readonly gone: string[] = [];
  readonly #saved: Saved;

  constructor(saved: Saved) {
    this.#saved = saved;
  }

  put(field: string, text: string): void {
    if (text === (this.#saved.get(field) ?? '')) return;
    if (text === '') {
      this.gone.push(field);
      this.#saved.delete(field);
      return;
    }
    this.set.push(field, text);
    this.#saved.set(field, text);
  }

  putValue<Value extends ToolRepeats | readonly string[]>(
    field: string,
    value: Value,
    encode: (value: Value) => string,
  ): void {
    if (this.#saved.get(field) === value) return;
    this.put(field, encode(value));
    if (this.#saved.has(field)) this.#saved.set(field, value);
  }

  dropRepeats(repeats: SessionState['repeats']): void {
    for (const field of this.#saved.keys())
      if (field.startsWith('s:') && !repeats.has(field.slice(2))) this.put(field, '');
  }
}

const OWN = /^(?:[hncjqo]$|[ts]:)/;

const createStored = (): StoredSession => ({ session: null, journal: createSessionJournal(), bytes: 0 });

/** Reads the fields that differ from those that were saved: of many tools a round changes one or two. */
const refresh = (stored: StoredSession, saved: Saved, fields: Fields): void => {
  const session = { ...(stored.session ?? createSessionState('')), ...decodeHead(fields.get('h') ?? '') };
  stored.session = session;
  stored.bytes = 0;
  for (const field of saved.keys()) {
    if (fields.has(field)) continue;
    saved.delete(field);
    readField(session, stored.journal, field, '');
  }
  for (const [field, text] of fields)
    if (OWN.test(field) && !isSaved(saved.get(field), text))
      saved.set(field, readField(session, stored.journal, field, text));
};

const isSaved = (saved: ReturnType<Saved['get']>, text: string): boolean =>
  saved === text || (saved instanceof PackedRepeats && saved.text === text);

/** Reads a field beside the head; '': it is not there. Gives what is saved of it. */
const readField = (
  session: SessionState,
  journal: SessionJournal,
  field: string,
  text: string,
): string | ToolRepeats | readonly string[] => {
  const name = field.slice(2);
  if (field.startsWith('s:')) return setOrDelete(session.repeats, name, decodeRepeats(text)) ?? text;
  if (field.startsWith('t:')) setOrDelete(session.tools, name, decodeTool(text));
  else if (field === 'n') readNamed(session, text);
  else if (field === 'c') readCalls(session, text);
  else if (field === 'o') journal.isTruncated = text !== '';
  else if (field === 'j') {
    journal.counts = decodeCounts(text);
    journal.lines = journal.counts.reduce((sum, count) => sum + count, 0);
  } else if (field === 'q') {
    journal.tail = text.split('\n').filter((line) => line.startsWith('{'));
    return journal.tail;
  }
  return text;
};

const encodeCalls = ({ callsOf }: SessionState): string => (callsOf.size === 0 ? '' : JSON.stringify([...callsOf]));

const readCalls = ({ callsOf }: SessionState, text: string): void => {
  callsOf.clear();
  for (const [tool, count] of readJson(Counted, text) ?? []) callsOf.set(tool, count);
};

const setOrDelete = <Value>(values: Map<string, Value>, name: string, value: Value | null): Value | null => {
  if (value === null) values.delete(name);
  else values.set(name, value);
  return value;
};

/** What a field says; null where it is not there or damaged: then it is ignored, and the other fields count. */
const readJson = <Value>(schema: z.ZodType<Value>, text: string): Value | null => {
  const parsed = text === '' ? null : parseJson(text);
  return parsed?.ok === true ? (schema.safeParse(parsed.value).data ?? null) : null;
};

const HEAD = /^1 (\d{1,15}) (\d{1,15}) (\d{1,15}) (.*)$/s;

const decodeHead = (text: string): Pick<SessionState, 'rounds' | 'calls' | 'lost' | 'born'> => {
  const [, rounds = '', calls = '', lost = '', born = ''] = HEAD.exec(text) ?? [];
  return { rounds: Number(rounds), calls: Number(calls), lost: Number(lost), born };
};

const Count = z.int().nonnegative();
const Counted = z.array(z.tuple([z.string(), Count]));
const Named = z.tuple([z.string(), z.array(z.tuple([z.string(), Count, z.number()], z.literal(1)))]);

const encodeNamed = ({ knownRound, namedRounds }: SessionState): string => {
  if (knownRound === '' && namedRounds.length === 0) return '';
  const rounds = namedRounds.map(({ id, step, joinUntil, namesUnknown }) =>
    namesUnknown === true ? [id, step, joinUntil, 1] : [id, step, joinUntil],
  );
  return JSON.stringify([knownRound, rounds]);
};

const readNamed = (session: SessionState, text: string): void => {
  const [known, named] = readJson(Named, text) ?? ['', []];
  session.knownRound = known;
  session.namedRounds = named.map(([id, step, joinUntil, ...flags]) =>
    flags.length === 0 ? { id, step, joinUntil } : { id, step, joinUntil, namesUnknown: true },
  );
};

const encodeTail = (tail: readonly string[]): string => tail.join('\n');

// Runs: elements of a session mostly have equal numbers of lines.
const encodeCounts = (counts: readonly number[]): string => {
  const runs: { readonly count: number; times: number }[] = [];
  for (const count of counts) {
    const last = runs.at(-1);
    if (last?.count === count) last.times += 1;
    else runs.push({ count, times: 1 });
  }
  return runs.map(({ count, times }) => `${count}x${times}`).join(' ');
};

const decodeCounts = (text: string): number[] =>
  text.split(' ').flatMap((run) => {
    const [, count = '', times = ''] = RUN.exec(run) ?? [];
    return Array.from({ length: Number(times) }, () => Number(count));
  });

const RUN = /^(\d{1,4})x(\d{1,4})$/;

const StoredReservation = z.object({
  id: z.string(),
  round: z.string(),
  retry: z.boolean(),
  epoch: Count,
  joinUntil: z.number(),
  lease: z.number(),
  running: Count,
  verdict: z.enum(VERDICTS),
});
const Tool = z.tuple([Count, Count, Count, z.number(), z.string(), z.array(StoredReservation)]);

const encodeTool = ({ failures, used, epoch, failedAt, lastError, reservations }: ToolState): string =>
  JSON.stringify([failures, used, epoch, failedAt, lastError, reservations]);

const decodeTool = (text: string): ToolState | null => {
  const parsed = readJson(Tool, text);
  if (parsed === null) return null;
  const [failures, used, epoch, failedAt, lastError, reservations] = parsed;
  return { failures, used, epoch, failedAt, lastError, reservations };
};

// A hash has 53 bits, a double holds it. A list is its doubles, three a call, as x64 and arm64 keep them: the low byte first.
const DOUBLE = 8;
// In base64: 24 bytes are 32 characters.
const CHARACTERS = 4 * DOUBLE;

const encodeRepeats = ({ before, step, callEnds }: ToolRepeats): string => {
  if (step !== 0) {
    const stored = Array.from(callEnds, ([callHash, { callEnd, answer }]) => [callHash, { ending: callEnd, answer }]);
    return `@${JSON.stringify([step, [...before], stored])}`;
  }
  return Buffer.from(new Float64Array(before.numbers).buffer).toString('base64');
};

const Answer = z.union([z.number(), z.literal('')]);
const StoredRepeats = z.object({ failed: z.number(), same: z.number(), answer: Answer });
const StoredCallEnd = z
  .object({ ending: z.enum(['failed', 'answered', 'looped', 'other', 'not_run']), answer: Answer })
  .transform(({ ending, answer }) => ({ callEnd: ending, answer }));
const OpenRepeats = z.tuple([
  z.number(),
  z.array(z.tuple([z.number(), StoredRepeats])),
  z.array(z.tuple([z.number(), StoredCallEnd])),
]);

const decodeRepeats = (text: string): ToolRepeats | null => {
  if (text === '') return null;
  if (!text.startsWith('@')) return new PackedRepeats(text);
  const [step, before, callEnds] = readJson(OpenRepeats, text.slice(1)) ?? [0, [], []];
  return { step, before: RepeatList.of(before), callEnds: new Map(callEnds) };
};

/** Decoded when they are read: a round looks at its own tools only. */
class PackedRepeats implements ToolRepeats {
  readonly step = 0;
  readonly callEnds = NO_CALL_ENDS;
  readonly text: string;
  #before: ToolRepeats['before'] | undefined;

  constructor(text: string) {
    this.text = text;
  }

  get packed(): number {
    return Math.floor(this.text.length / CHARACTERS);
  }

  get before(): ToolRepeats['before'] {
    this.#before ??= decodePacked(this.text);
    return this.#before;
  }
}

const decodePacked = (text: string): RepeatList => {
  const bytes = Buffer.from(text, 'base64');
  const stored = new Float64Array(Uint8Array.from(bytes).buffer, 0, Math.floor(bytes.length / DOUBLE));
  const numbers: number[] = [];
  for (let at = 0; at + 3 <= stored.length; at += 3) {
    const counts = stored[at + 2] ?? -1;
    if (Number.isSafeInteger(counts) && counts >= 0) numbers.push(stored[at] ?? 0, stored[at + 1] ?? 0, counts);
  }
  return new RepeatList(numbers);
};
