import type { Random } from './random.ts';

/** A call as it is sent, and what may come of it. */
export type CallPlan = {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Codes it may come to beside those that any call may come to; `ok` is success. */
  readonly codes: readonly string[];
  /** Of a success of a good call: whether it is the answer to this very call. */
  readonly isRight?: (value: unknown) => boolean;
  /** The line it appends to the ledger. */
  readonly line?: string;
};

export type CallKind = {
  /** The tool that must be there. */
  readonly tool: string;
  readonly weight: number;
  /** `unique` differs with every call of a run. */
  readonly plan: (random: Random, unique: string) => CallPlan;
};

const has = (value: unknown, member: string, expected: unknown): boolean =>
  typeof value === 'object' && value !== null && Reflect.get(value, member) === expected;

/** Calls that must succeed, in whatever company. */
export const GOOD_KINDS: readonly CallKind[] = [
  {
    tool: 'echo',
    weight: 40,
    plan: (_, text) => ({
      name: 'echo',
      arguments: { text },
      codes: ['ok'],
      isRight: (value) => has(value, 'text', text),
    }),
  },
  {
    tool: 'read_file',
    weight: 10,
    plan: () => ({
      name: 'read_file',
      arguments: { path: 'notes.md' },
      codes: ['ok'],
      isRight: (value) => has(value, 'path', 'notes.md'),
    }),
  },
  {
    tool: 'write_file',
    weight: 2,
    plan: (random, content) => {
      const path = `written/${random.whole(1, 50)}.txt`;
      return {
        name: 'write_file',
        arguments: { path, content },
        codes: ['ok'],
        isRight: (value) => has(value, 'path', path),
      };
    },
  },
  {
    tool: 'sum',
    weight: 30,
    plan: (random) => {
      const [a, b] = [random.whole(0, 1_000_000), random.whole(0, 1_000_000)];
      return { name: 'sum', arguments: { a, b }, codes: ['ok'], isRight: (value) => has(value, 'sum', a + b) };
    },
  },
  {
    tool: 'wait',
    weight: 4,
    plan: (random, text) => ({
      name: 'wait',
      arguments: { ms: random.whole(1, 100), text },
      codes: ['ok'],
      isRight: (value) => has(value, 'text', text),
    }),
  },
  {
    tool: 'append_line',
    weight: 4,
    plan: (_, id) => ({ name: 'append_line', arguments: { id }, codes: ['ok'], isRight: () => true, line: id }),
  },
];

/** Calls that write and take a while: what a client that lost its answer is in doubt about. */
export const WRITE_KINDS: readonly CallKind[] = [
  {
    tool: 'append_line',
    weight: 3,
    plan: (_, id) => ({ name: 'append_line', arguments: { id }, codes: ['ok'], isRight: () => true, line: id }),
  },
  {
    tool: 'append_slowly',
    weight: 2,
    plan: (random, id) => ({
      name: 'append_slowly',
      // Some take longer than the lease of their batch.
      arguments: { id, ms: random.chance(0.1) ? random.whole(5000, 8000) : random.whole(10, 1500) },
      codes: ['ok'],
      isRight: () => true,
      line: id,
    }),
  },
];

const THROWN = [
  ['error', 'tool_exception'],
  ['retryable', 'retry_requested'],
  ['terminal', 'tool_failed'],
  ['text', 'tool_exception'],
  ['nothing', 'tool_exception'],
] as const;

const REFUSED_URLS = ['http://127.0.0.1:6379/', 'http://169.254.169.254/', 'file:///etc/passwd', 'http://[::1]/'];

/** Calls that fail and harm nothing. Their tools are not those of good calls, whose budgets they would use up. */
export const BAD_KINDS: readonly CallKind[] = [
  {
    tool: 'echo',
    weight: 4,
    plan: (random) => ({
      name: random.pick(['ecko', 'Echo', '__proto__', 'functions.echo']),
      arguments: {},
      codes: ['unknown_tool'],
    }),
  },
  {
    tool: 'list_files',
    weight: 4,
    plan: (random) => ({
      name: 'list_files',
      arguments: random.pick([{ path: 42 }, { unknown: true }]),
      codes: ['invalid_arguments'],
    }),
  },
  {
    tool: 'fetch_url',
    weight: 2,
    plan: (random) => ({
      name: 'fetch_url',
      arguments: { url: random.pick(REFUSED_URLS) },
      codes: ['tool_failed', 'retry_requested', 'invalid_arguments'],
    }),
  },
  {
    tool: 'fail',
    weight: 4,
    plan: (random) => {
      const [how, code] = random.pick(THROWN);
      return { name: 'fail', arguments: { how }, codes: [code] };
    },
  },
];
