import type { JournalEntry } from '../contract/session.ts';
import { callable, checkMembers, type MemberRule, toolName } from './check-definition.ts';
import { createRefuse, reportDeclared } from './define-tool.ts';
import { type InlineTool, type Prepared, UNSTATED } from './tool.ts';

/** A named pure fold over the calls of a session; what it makes of them is a slice of the session's view. */
export type Reducer<State = unknown> = {
  /** 1 to 64 of `A–Z a–z 0–9 _ . -`, unique in the service. */
  readonly name: string;
  readonly initial: State;
  /** Gives the next state, which must be JSON. Sees every call once, oldest first. */
  readonly reduce: (state: State, entry: JournalEntry) => State;
};

/**
 * Declares a reducer. Throws a TypeError that names the reducer and the member when the declaration is wrong: a bad
 * name, an `initial` that is no JSON, a `reduce` that is no function. Every fold begins with a copy of `initial`.
 */
export const defineReducer = <State>(definition: Reducer<State>): InlineTool => {
  const refuse = createRefuse('reducer', definition, defineReducer);
  checkMembers(definition, MEMBERS, refuse);
  const { name, initial, reduce } = definition;
  // The caller may change the declared object later.
  const start = structuredClone(initial);
  const step = (state: State, entry: JournalEntry): State => {
    const next = reduce(state, entry);
    if (next === undefined) throw new TypeError(`Reducer '${name}': reduce returned nothing.`);
    if (next instanceof Promise) throw new TypeError(`Reducer '${name}': reduce must not be asynchronous.`);
    return next;
  };
  const description = `Computes the slice '${name}' from a session's journal.`;
  const declared = createReducerTool(name, description, (entries) => entries.reduce(step, structuredClone(start)));
  return reportDeclared(declared, defineReducer);
};

// As deep as the arguments of a call may be; what is deeper, or a circle, is a mistake.
const MAX_DEPTH = 64;
const json: MemberRule = {
  must: 'be JSON',
  fits: (value) => isJson(value, MAX_DEPTH),
};
const MEMBERS = { name: toolName, initial: json, reduce: callable } as const satisfies Record<
  keyof Reducer,
  MemberRule
>;

const isJson = (value: unknown, levels: number): boolean => {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null)
    return ['string', 'boolean'].includes(typeof value) || value === null;
  const isPlain = Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value));
  return levels > 0 && isPlain && Object.values(value).every((member) => isJson(member, levels - 1));
};

/** Whoever reads a session waits for this. */
const TIMEOUT_MS = 1000;

/**
 * A reducer in the form in which tools are loaded and run: its input is `{ entries }`, its value is the slice. `fold` makes
 * JSON of all entries, oldest first; it is pure, and what it throws is its failure.
 */
export const createReducerTool = (
  name: string,
  description: string,
  fold: (entries: readonly JournalEntry[]) => unknown,
): InlineTool => ({
  ...UNSTATED,
  role: 'reducer',
  runsIn: 'service',
  name,
  description,
  effects: 'read',
  inputSchema: { type: 'object', properties: { entries: { type: 'array' } }, required: ['entries'] },
  timeoutMs: TIMEOUT_MS,
  breakerKeyOf: null,
  exampleArguments: '{"entries": []}',
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
