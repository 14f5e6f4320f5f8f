import type { ToolRegistry } from '../tools/registry.ts';
import type { Tool } from '../tools/tool.ts';
import { type Failure, toFailure } from './failure.ts';
import { batchLimitText, invalidCallText, notAuthorizedText } from './failure-text.ts';
import type { CallReading } from './provider-calls.ts';
import type { NameSuggestions } from './suggest-names.ts';

type CallHead = {
  readonly index: number;
  readonly id: string | number | null;
  /** The one asked for, which may be another than its tool's own. */
  readonly name: string | null;
};

/** An entry of the batch after 1 shape, 2 look up, 3 authorise. */
export type ResolvedCall = CallHead &
  (
    | { readonly kind: 'ready'; readonly tool: Tool; readonly given: unknown; readonly timeoutMs: number }
    | { readonly kind: 'unknown_tool'; readonly failure: Failure }
    | { readonly kind: 'refused'; readonly tool: Tool | null; readonly failure: Failure }
  );

export type ReadyCall = Extract<ResolvedCall, { kind: 'ready' }>;

/** The tool of a call; null where it names none that there is. */
export const toolOf = (call: ResolvedCall): Tool | null => (call.kind === 'unknown_tool' ? null : call.tool);

export type Resolving = {
  readonly registry: ToolRegistry;
  readonly mayUse: (tool: string) => boolean;
  /** What is meant by names and arguments; null where they are taken as they stand. */
  readonly reading: CallReading | null;
  /** What is said of names that no tool has. */
  readonly suggestions: NameSuggestions;
  readonly maxBatchCalls: number;
};

/** What the entry asks for, as far as that can be told without the session: a tool, or why it gets none. */
export const resolveCall = (entry: unknown, index: number, resolving: Resolving): ResolvedCall => {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry))
    return refuse({ index, id: null, name: null }, 'The call is not an object.');
  const id = toCallId(Reflect.get(entry, 'id'));
  const name: unknown = Reflect.get(entry, 'name');
  if (typeof name !== 'string') return refuse({ index, id, name: null }, 'The call has no name.');
  const head = { index, id, name };
  if (name.trim() === '') return refuse(head, 'The name of the call is blank.');
  if (index >= resolving.maxBatchCalls) return refuseOverLimit(head, resolving);
  const tool = findTool(name, resolving);
  if (tool === undefined) return toUnknown(head, resolving);
  if (!resolving.mayUse(tool.name))
    return { ...head, kind: 'refused', tool, failure: toFailure('not_authorized', notAuthorizedText(name), tool) };
  const limit: unknown = Reflect.get(entry, 'timeout_ms') ?? tool.timeoutMs;
  if (typeof limit !== 'number' || !(limit > 0))
    return refuse(head, 'timeout_ms must be a positive number of milliseconds.');
  const timeoutMs = Math.ceil(Math.min(limit, tool.timeoutMs));
  return { ...head, kind: 'ready', tool, given: toGiven(Reflect.get(entry, 'arguments'), tool, resolving), timeoutMs };
};

const findTool = (name: string, { registry, reading }: Resolving): Tool | undefined =>
  reading === null ? registry.find(name) : reading.findTool(name);

const toGiven = (asked: unknown, tool: Tool, { reading }: Resolving): unknown =>
  reading === null ? asked : reading.readArguments(asked, tool);

/**
 * Ids are echoed, so that the caller finds its call again; anything but a text or a number becomes null. So does a
 * number that lost digits in parsing: it could be the id of another call.
 */
export const toCallId = (id: unknown): string | number | null =>
  typeof id === 'string' || (typeof id === 'number' && isEchoable(id)) ? id : null;

const isEchoable = (id: number): boolean => Number.isSafeInteger(id) || (Number.isFinite(id) && !Number.isInteger(id));

const refuse = (head: CallHead, problem: string): ResolvedCall => ({
  ...head,
  kind: 'refused',
  tool: null,
  failure: toFailure('invalid_call', invalidCallText(problem), null),
});

const refuseOverLimit = (head: CallHead & { readonly name: string }, resolving: Resolving): ResolvedCall => ({
  ...head,
  kind: 'refused',
  tool: findTool(head.name, resolving) ?? null,
  failure: toFailure('call_limit_exceeded', batchLimitText(resolving.maxBatchCalls), null),
});

const toUnknown = (head: CallHead & { readonly name: string }, resolving: Resolving): ResolvedCall => {
  const { registry, mayUse, suggestions } = resolving;
  const known = registry.findUnavailable(head.name);
  // Of a tool that the caller may not use it learns nothing, not even that there is one.
  const text =
    known === undefined || !mayUse(known.facts.name)
      ? suggestions.unknown(head.name)
      : suggestions.unavailable(head.name, known.withheld ?? 'no');
  return { ...head, kind: 'unknown_tool', failure: toFailure('unknown_tool', text, null) };
};
