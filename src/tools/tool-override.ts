import * as z from 'zod';
import { DURATION, readDuration } from '../contract/duration.ts';
import { EFFECTS } from '../contract/failure.ts';
import { BACKGROUND, isSafe, LONGEST_DURATION_MS, MAX_TIMER_MS, type ReconcileBy, type ToolFacts } from './tool.ts';

// Set by the client, or never by anyone (OpenAPI: "Accept, Content-Type or Authorization … shall be ignored").
const CLIENT_HEADERS: ReadonlySet<string> = new Set([
  ...['accept', 'accept-encoding', 'authorization', 'connection', 'content-length', 'content-type', 'cookie', 'expect'],
  ...['host', 'http2-settings', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'user-agent', 'via'],
  ...['cookie2', 'set-cookie', 'set-cookie2'],
  ...['traceparent', 'tracestate', 'baggage', 'forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'],
]);

/** Whether a header, in any case, is one that only the client of an API itself writes. */
export const isClientHeader = (name: string): boolean =>
  CLIENT_HEADERS.has(name.toLowerCase()) || /^proxy-/i.test(name);

// RFC 6901, but for the empty one, which is all arguments; a token (RFC 9110, section 5.1).
const POINTER = z
  .string()
  .regex(/^(\/([^/~]|~[01])*)+$/, 'must be a JSON Pointer into the arguments, such as /reference');
const HEADER = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'must be the name of a header')
  .refine((name) => !isClientHeader(name), 'is a header that only the client itself writes: name another');

/** Where the effect id of each call goes: into a member of the arguments, or into a header of the import's requests. */
export const EffectIdPlace = z
  .strictObject({ argument: POINTER.optional(), header: HEADER.optional() })
  .refine(({ argument, header }) => (argument === undefined) !== (header === undefined), {
    error: 'must have either argument or header',
  });
export type EffectIdPlace = Readonly<z.infer<typeof EffectIdPlace>>;

/** In a text that the service fills in: what stands between the braces, `effectId` or a JSON Pointer. */
export const PLACEHOLDER = /\{(\w+|\/[^{}]*)\}/g;

const isPlace = (place: string): boolean => place === 'effectId' || POINTER.safeParse(place).success;

const Arguments = z.record(
  z.string(),
  z
    .json()
    .refine(
      (value) => [...JSON.stringify(value).matchAll(PLACEHOLDER)].every(([, place = '']) => isPlace(place)),
      'has a placeholder that is neither {effectId} nor {/POINTER} into the arguments of the call',
    ),
);

const After = z
  .string()
  .regex(DURATION, 'must be a duration such as 10s')
  .transform(readDuration)
  .refine((ms) => ms <= LONGEST_DURATION_MS, 'must be at most 24h: no write is looked for any longer');

const DEFAULT_AFTER_MS = 10_000;

const Reconcile = z
  .strictObject({
    tool: z.string().min(1),
    arguments: Arguments.default({}),
    happened: z.string().regex(/^(\/([^/~]|~[01])*)*$/, 'must be a JSON Pointer into the value, such as /items/0'),
    final: z.boolean().default(false),
    after: After.default(DEFAULT_AFTER_MS),
  })
  .transform(({ after, ...said }): ReconcileBy => ({ ...said, afterMs: after }));

/** The tool that is asked whether writes of this one took effect, or why none can be. `find`: of the tools that serve. */
export const findAsked = <Found extends Pick<ToolFacts, 'effects'>>(
  { name, effects }: Pick<ToolFacts, 'name' | 'effects'>,
  { tool: asked }: ReconcileBy,
  find: (name: string) => Found | undefined,
): Found | string => {
  if (effects !== 'write') return `reconcile is for writes, and effects of '${name}' is '${effects}': remove it there.`;
  const other = find(asked);
  if (other === undefined) return `reconcile asks '${asked}', and no such tool serves.`;
  if (isSafe(other)) return other;
  return `reconcile asks '${asked}', which is a write: a check only reads. Name another tool, or set its effects to read.`;
};

/** What an operator says of a tool instead of what it says of itself; what is left out stays as the tool has it. */
export const ToolOverride = z.strictObject({
  enabled: z.boolean().optional().describe('false: disables the tool; the catalogue gives the reason'),
  retries: z.int().min(0).optional().describe('Failed rounds in a row beyond the first'),
  timeoutMs: z.int().min(1).max(MAX_TIMER_MS).optional().describe('Hard time limit of one call in milliseconds'),
  effects: z.enum(EFFECTS).optional().describe('Effects of a repeat: read, idempotent or write'),
  concurrency: z
    .int()
    .min(1)
    .nullable()
    .optional()
    .describe('Concurrent calls in one process; null: no limit of its own'),
  maxCallsPerSession: z.int().min(0).nullable().optional().describe('Calls per session. 0: none; null: unlimited'),
  sequential: z.boolean().optional().describe('true: a barrier in a batch, runs alone'),
  polling: z.boolean().optional().describe('true: a repeated call with the same answer does not count as a loop'),
  background: z
    .enum(BACKGROUND)
    .optional()
    .describe('Whether a call may go on after its request: never, optional (if the caller agrees) or always'),
  maxDurationMs: z
    .int()
    .min(1)
    .max(LONGEST_DURATION_MS)
    .optional()
    .describe('Time limit of a background call in milliseconds, at most 24 h'),
  gracefulErrors: z.boolean().optional().describe("false: an exception of it is fatal for the agent's run"),
  effectId: EffectIdPlace.optional().describe('Argument or header that carries the effect id of each call'),
  reconcile: Reconcile.optional().describe('Another tool that tells whether a write took effect'),
});
export type ToolOverride = Readonly<z.infer<typeof ToolOverride>>;

/** A tool's name, or a text with `*` for any characters. */
export const TOOL_PATTERN = /^[A-Za-z0-9_.*-]{1,128}$/;

/** How much a pattern says of a name: the higher of two goes first. */
export const specificityOf = (pattern: string): number =>
  pattern.includes('*') ? pattern.replaceAll('*', '').length : Number.POSITIVE_INFINITY;

/** Whether a name is the pattern, where `*` stands for any characters. Takes no longer the more stars there are. */
export const matchesPattern = (name: string, pattern: string): boolean => {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return name === first;
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  const end = name.length - last.length;
  let from = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, from);
    if (found === -1 || found + part.length > end) return false;
    from = found + part.length;
  }
  return true;
};
