import type { JournalEntry } from '../contract/session.ts';
import { tellDeclared } from './declarations.ts';
import { createDefinitionError, type RefusedDefinition } from './definition-error.ts';
import type { Reducer } from './reducer.ts';
import { toReducerTool } from './reducer-tool.ts';
import type { InlineTool } from './tool.ts';

/**
 * Declares a reducer. Throws a TypeError that names the reducer and the member when the declaration is wrong: a bad
 * name, an `initial` that is no JSON, a `reduce` that is no function. Every fold begins with a copy of `initial`.
 */
export const defineReducer = <State>({ name, initial, reduce }: Reducer<State>): InlineTool => {
  const refuse = (member: string, text: string): never => {
    const about: RefusedDefinition = { tool: typeof name === 'string' ? name : null, member };
    throw createDefinitionError(text, about, defineReducer);
  };
  if (typeof name !== 'string' || !/^[A-Za-z0-9_.-]{1,64}$/.test(name))
    refuse('name', `A reducer name must be 1 to 64 of A-Z a-z 0-9 _ . - and not ${JSON.stringify(name)}.`);
  if (!isJson(initial, MAX_DEPTH)) refuse('initial', `Reducer '${name}': initial must be JSON.`);
  if (typeof reduce !== 'function') refuse('reduce', `Reducer '${name}': reduce must be a function.`);
  // Whoever keeps the declared object may change it later.
  const kept = structuredClone(initial);
  const step = (state: State, entry: JournalEntry): State => {
    const next = reduce(state, entry);
    if (next === undefined) throw new TypeError(`Reducer '${name}': reduce returned nothing.`);
    if (next instanceof Promise) throw new TypeError(`Reducer '${name}': reduce must not be asynchronous.`);
    return next;
  };
  const declared = toReducerTool({
    name,
    description: `Makes the slice '${name}' of a session's journal.`,
    fold: (entries) => entries.reduce(step, structuredClone(kept)),
  });
  return tellDeclared(declared, defineReducer);
};

// As deep as the arguments of a call may be; what is deeper, or a circle, is a mistake.
const MAX_DEPTH = 64;

const isJson = (value: unknown, levels: number): boolean => {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null)
    return ['string', 'boolean'].includes(typeof value) || value === null;
  const isPlain = Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value));
  return levels > 0 && isPlain && Object.values(value).every((member) => isJson(member, levels - 1));
};
