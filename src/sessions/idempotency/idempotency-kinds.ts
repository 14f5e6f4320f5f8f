import * as z from 'zod';
import { textBytes } from '../../memory/bounded-store.ts';
import type { Fields } from '../../store/record-store.ts';
import { createTextKind } from '../../store/text-kind.ts';
import { parseObject, RECORD_TTL_MS } from './result-cap.ts';

/** What stands for the result of a call that began, and of which nobody knows how it ended. */
export const STARTED = '';

/** The record of a keyed batch. Of each try the id is its own: nothing of an earlier life of the key has it. */
export type IdempotencyRecord = {
  body: string;
  /** The id of the try that made the record; '': there is none. */
  life: string;
  /** The id of the try that holds it, or held it last. */
  holder: string;
  /** The id of the try that committed last; '': none has. */
  committer: string;
  /** When the hold lapses, in Unix milliseconds; 0: its try has committed. */
  leaseEndsAt: number;
  endsAt: number;
  /** The name of the record that this one stands for; '': it stands for itself. */
  alias: string;
  /** A try was to be answered before its calls end: they may be, or become, pending ones. */
  promised: boolean;
  /** JSON texts, or STARTED, by the index of the call. */
  readonly calls: Map<number, string>;
  /** What the JSON texts take of the heap. */
  resultBytes: number;
};

export const setCall = (record: IdempotencyRecord, index: number, text: string): void => {
  removeCall(record, index);
  record.calls.set(index, text);
  record.resultBytes += toResultBytes(text);
};

export const removeCall = (record: IdempotencyRecord, index: number): void => {
  record.resultBytes -= toResultBytes(record.calls.get(index) ?? STARTED);
  record.calls.delete(index);
};

const toResultBytes = (text: string): number => (text === STARTED ? 0 : textBytes(text));

// Measured: a record with its collection and ids, and an index in it.
const RECORD_BYTES = 530;
const MARK_BYTES = 60;

const createRecord = (): IdempotencyRecord => ({
  body: '',
  life: '',
  holder: '',
  committer: '',
  leaseEndsAt: 0,
  endsAt: 0,
  alias: '',
  promised: false,
  calls: new Map(),
  resultBytes: 0,
});

const HOUR_MS = 3_600_000;
const ALIAS_TTL_MS = RECORD_TTL_MS + HOUR_MS;

const CALL = 'r:';

const toTexts = (record: IdempotencyRecord, saved: Fields): Fields => {
  const texts = new Map<string, string>();
  // A head that cannot be read stays as it is.
  const head = record.life === '' && record.alias === '' ? saved.get('h') : encodeHead(record);
  if (head !== undefined) texts.set('h', head);
  if (record.promised) texts.set('p', '1');
  for (const [index, text] of record.calls) texts.set(CALL + index, text);
  return texts;
};

const FORMAT = '1';
const ALIAS = /^1 = (\S+)$/;
const HEAD = /^1 (\S+) (\S+) (\S+) (\d{1,15}) (\d{1,15}) (.*)$/s;

const encodeHead = ({ life, holder, committer, leaseEndsAt, endsAt, body, alias }: IdempotencyRecord): string =>
  alias !== ''
    ? `${FORMAT} = ${alias}`
    : `${FORMAT} ${life} ${holder} ${committer === '' ? '-' : committer} ${leaseEndsAt} ${endsAt} ${body}`;

const decodeHead = (text: string): IdempotencyRecord => {
  const [, life = '', holder = '', committer = '-', leaseEndsAt, endsAt, body = ''] = HEAD.exec(text) ?? [];
  const [, alias = ''] = ALIAS.exec(text) ?? [];
  return {
    ...createRecord(),
    alias,
    body,
    life,
    holder,
    committer: committer === '-' ? '' : committer,
    leaseEndsAt: Number(leaseEndsAt ?? 0),
    endsAt: Number(endsAt ?? 0),
  };
};

/**
 * Records of keyed batches: `h` is the head, `p` says that it was promised, `r:INDEX` is a call, so that a large result is
 * written once. In memory results are weighed apart from marks, and a record that loses them says that its calls ran; held
 * records are the last to go.
 */
export const idempotencyKind = createTextKind<IdempotencyRecord>({
  name: 'keyed',
  operation: 'keyed',
  own: /^(?:[hp]$|r:)/,
  memory: { records: 'marks', lists: null, pinned: 'leases' },
  knownPart: 0.14,
  values: {
    memory: 'results',
    bytes: ({ resultBytes }) => resultBytes,
    drop: (record) => {
      for (const index of record.calls.keys()) record.calls.set(index, STARTED);
      record.resultBytes = 0;
    },
  },
  isPinned: ({ leaseEndsAt }) => leaseEndsAt !== 0,
  // Marks under a head that cannot be read stay for as long as any; a name longer than the record that it leads to.
  ttlMs: ({ life, endsAt, alias }, now) => {
    if (alias !== '') return ALIAS_TTL_MS;
    return life === '' ? RECORD_TTL_MS : endsAt - now;
  },
  create: createRecord,
  decode: (fields) => {
    const record = decodeHead(fields.get('h') ?? '');
    const isReadable = record.life !== '';
    record.promised = fields.has('p');
    // A result that cannot be believed says at least that its call began.
    for (const [name, text] of fields)
      if (name.startsWith(CALL))
        setCall(record, Number(name.slice(CALL.length)), isReadable && parseObject(text) !== null ? text : STARTED);
    return record;
  },
  toTexts,
  isEmpty: (record) => record.alias === '' && isUnused(record),
  bytes: ({ body, calls, alias }) => RECORD_BYTES + textBytes(body) + textBytes(alias) + calls.size * MARK_BYTES,
});

/** Whether no try has made the record, nor left a mark in it. */
export const isUnused = ({ life, calls }: IdempotencyRecord): boolean => life === '' && calls.size === 0;

/** Makes of a record in which nothing has begun another name of that one. */
export const setAlias = (record: IdempotencyRecord, alias: string): void => {
  Object.assign(record, { ...createRecord(), calls: record.calls, alias });
};

const Answer = z.object({
  record: z.string(),
  life: z.string(),
  calls: z.int().nonnegative(),
  own: z.array(z.tuple([z.int().nonnegative(), z.string()])),
});
/** What one request was answered: results of a record, and those that only this answer has. */
export type Answer = Readonly<z.infer<typeof Answer>>;

/** The answer that is found under a request id; null: there is none. */
export type AnswerRecord = { answer: Answer | null };

// Measured: an answer with the key of its record, and the place of a result of its own.
const ANSWER_BYTES = 150;
const OWN_BYTES = 100;

/** Answers by request id, in one field: they are small, but for one whose record another try has taken over. */
export const answerKind = createTextKind<AnswerRecord>({
  name: 'answer',
  operation: 'keyed',
  own: /^a$/,
  memory: { records: 'answers', lists: null },
  // It is written once, and read as it is in the store.
  knownPart: 0.01,
  ttlMs: RECORD_TTL_MS,
  create: () => ({ answer: null }),
  decode: (fields) => ({ answer: Answer.safeParse(parseObject(fields.get('a') ?? '')).data ?? null }),
  toTexts: ({ answer }, saved) => (answer === null ? saved : new Map([['a', JSON.stringify(answer)]])),
  isEmpty: ({ answer }) => answer === null,
  bytes: ({ answer }) => {
    let bytes = ANSWER_BYTES + textBytes(answer?.record ?? '');
    for (const [, result] of answer?.own ?? []) bytes += OWN_BYTES + textBytes(result);
    return bytes;
  },
});
