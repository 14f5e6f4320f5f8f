import * as z from 'zod';
import { EXECUTED, FAILURE_CODES, OUTCOMES } from '../contract/failure.ts';
import type { RenderedResult, Warning } from '../contract/tool-result.ts';
import { parseJson } from '../json/parse-json.ts';
import { type CallOutcome, failed, toFailure } from './call-outcome.ts';
import { INTERNAL_ERROR_TEXT } from './failure-text.ts';

// Results that were rendered before: by an earlier try of the batch, or by the run of a pending call. They are JSON texts.

/** What is read of a stored result; the rest of it is passed on as it is. */
const StoredResult = z.looseObject({
  /** That of its tool, also where it was called by another. */
  name: z.string().nullish(),
  message: z.string(),
  outcome: z.enum(OUTCOMES),
  executed: z.enum(EXECUTED),
  error: z.looseObject({ code: z.enum(FAILURE_CODES), type: z.string(), fatal: z.boolean() }).nullable(),
  replayed: z.literal(true).optional(),
  pending: z.object({ call: z.string() }).optional(),
});

export type StoredResult = z.infer<typeof StoredResult>;

/** Null where the text is no result of this or a compatible version. */
export const readStoredResult = (result: string): StoredResult | null => {
  const parsed = parseJson(result);
  return parsed.ok ? (StoredResult.safeParse(parsed.value).data ?? null) : null;
};

/** The outcome that a stored result tells of; what cannot be read is a fault of the service. */
export const readOutcome = (stored: StoredResult | null): CallOutcome => {
  if (stored === null) return failed(toFailure('internal_error', INTERNAL_ERROR_TEXT, null));
  const { error, message, outcome, executed } = stored;
  if (error === null) return { kind: 'success', valueJson: 'null', message, executed, marks: [], warnings: [] };
  const { code, type, fatal } = error;
  return failed(toFailure(code, message, null, { outcome, executed, type, fatal }));
};

/** The handle in a result that was pending when it was stored; null in any other, which is not parsed. */
export const readHandle = (result: string): string | null =>
  result.includes('"outcome":"pending"') ? (readStoredResult(result)?.pending?.call ?? null) : null;

/** A result as it was stored. */
export const readResult = (json: string): RenderedResult => ({ json, handle: readHandle(json), plainValueJson: null });

type Members = { readonly warnings?: readonly Warning[] } & Readonly<Record<string, unknown>>;

/** The result with other members in the place of its own. */
export const withMembers = (result: string, members: Members): string => {
  const parsed = parseJson(result);
  return parsed.ok && typeof parsed.value === 'object' ? JSON.stringify({ ...parsed.value, ...members }) : result;
};

/** The result with one more warning. */
export const withWarning = (result: string, warning: Warning): string => {
  const { warnings = [] }: Members = JSON.parse(result);
  return withMembers(result, { warnings: [...warnings, warning] });
};
