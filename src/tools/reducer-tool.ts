import type { JournalEntry } from '../contract/session.ts';
import type { InlineTool, Prepared } from './tool.ts';

export type ReducerParts = {
  readonly name: string;
  readonly description: string;
  /** What it makes of all entries, oldest first: JSON. Pure; what it throws is its failure. */
  readonly fold: (entries: readonly JournalEntry[]) => unknown;
};

/** Whoever reads a session waits for this. */
const TIMEOUT_MS = 1000;

/** A reducer in the form in which tools are loaded and run: its input is `{ entries }`, its value is the slice. */
export const toReducerTool = ({ name, description, fold }: ReducerParts): InlineTool => ({
  role: 'reducer',
  runsIn: 'service',
  name,
  description,
  effects: 'read',
  inputSchema: { type: 'object', properties: { entries: { type: 'array' } }, required: ['entries'] },
  outputSchema: null,
  retries: 0,
  timeoutMs: TIMEOUT_MS,
  gracefulErrors: null,
  sequential: false,
  concurrency: null,
  maxCallsPerSession: null,
  polling: false,
  breakerKey: null,
  upstream: null,
  breakerKeyOf: null,
  source: 'builtin',
  exampleArguments: '{"entries": []}',
  isolation: 'process',
  env: [],
  prepare: ({ entries }): Prepared =>
    isJournal(entries)
      ? { ok: true, invocation: { run: () => fold(entries) } }
      : {
          ok: false,
          issues: [{ path: 'entries', expected: 'an array', received: typeof entries, message: 'must be a journal' }],
        },
  checkOutput: null,
  extractError: null,
});

// Each entry was checked where the journal was read, and comes from nobody but the service.
const isJournal = (value: unknown): value is readonly JournalEntry[] => Array.isArray(value);
