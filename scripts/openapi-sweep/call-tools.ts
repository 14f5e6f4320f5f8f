import { toSampleArguments } from '@recourse/test-support/openapi-stand-in-arguments.ts';
import { isJson, type Json } from '@recourse/test-support/openapi-stand-in-schemas.ts';
import type { OpenStandIn } from '@recourse/test-support/openapi-stand-in-server.ts';
import type { InlineTool } from '../../src/tools/tool.ts';
import { isToldValue } from '../../src/tools/tool-values.ts';

export type CallOutcome =
  | { readonly kind: 'right' }
  /** No arguments were found that the schema takes: a limit of the sweep, not of the tool. */
  | { readonly kind: 'no arguments'; readonly what: string }
  | { readonly kind: 'wrong'; readonly what: string };

/** Calls one tool with sample arguments, and judges what reached the stand-in and what came back. */
export const callOnStandIn = async (tool: InlineTool, standIn: OpenStandIn): Promise<CallOutcome> => {
  const input = await toFitting(tool);
  if (typeof input === 'string') return { kind: 'no arguments', what: input };
  const before = standIn.judged.length;
  const value = await call(tool, input).then(toBare, (thrown: unknown) => thrown);
  const judged = standIn.judged[before];
  if (judged === undefined) return { kind: 'wrong', what: `nothing was sent: ${String(value)}` };
  const label = tool.source.replace(/^openapi:api /, '');
  if (judged.faults.length > 0) return { kind: 'wrong', what: judged.faults.join('; ') };
  const reached = judged.operation ?? 'nothing';
  // What tools show of their source is cut.
  const isReached = label.startsWith(reached) || reached.startsWith(label) || isSamePlace(label, reached);
  if (!isReached) return { kind: 'wrong', what: `it reached ${reached}` };
  return isSame(value, judged.answer) ? { kind: 'right' } : { kind: 'wrong', what: `it came back as ${String(value)}` };
};

// Two paths of a document may be one to a server: `/#a` and `/#b`, `/{id}` and `/{name}`.
const isSamePlace = (one: string, other: string): boolean => toPlace(one) === toPlace(other);
const toPlace = (label: string): string => (label.split(/[?#]/, 1)[0] ?? '').replace(/\{[^{}]*\}/g, '{}');

/** The arguments, or why there are none. */
const toFitting = async (tool: InlineTool): Promise<Json | string> => {
  let why = '';
  for (const extent of ['all', 'required'] as const) {
    const sample = withFiles(toSampleArguments(tool.inputSchema, extent));
    const prepared = await tool.prepare(sample);
    if (prepared.ok) return sample;
    why = prepared.issues.map(({ path, message }) => `${path}: ${message}`).join('; ');
  }
  return why;
};

/** A file has one content. */
const withFiles = (sample: Json): Json =>
  JSON.parse(
    JSON.stringify(sample, (_key, value: unknown) =>
      isJson(value) && 'base64' in value && 'file_name' in value ? { text: 'text' } : value,
    ),
  );

const call = async (tool: InlineTool, input: Json): Promise<unknown> => {
  const prepared = await tool.prepare(input);
  if (!prepared.ok) throw new TypeError('The arguments do not fit.');
  const ignore = (): void => {};
  return prepared.invocation.run({
    signal: AbortSignal.timeout(20_000),
    ...{
      session: null,
      callId: null,
      progress: ignore,
      part: ignore,
      effects: tool.effects,
      retriesLeft: 3,
      timeoutMs: 20_000,
    },
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    ...{
      isLastAttempt: false,
      idempotencyKey: null,
      effectId: 'e_0123456789abcdefghijkl',
      traceparent: null,
      tenant: null,
      caller: null,
    },
  });
};

const toBare = (given: unknown): unknown =>
  typeof given === 'object' && given !== null && isToldValue(given) ? given.value : given;

type Answer = OpenStandIn['judged'][number]['answer'];

const isSame = (value: unknown, { status, headers, body }: Answer): boolean => {
  if (value instanceof Error) return false;
  if (status >= 300) return isJson(value) && value['status'] === status;
  if (body === '') return value === null || isJson(value);
  if (!/json/.test(headers['content-type'] ?? '')) return isJson(value);
  return JSON.stringify(value) === JSON.stringify(JSON.parse(body, toExact));
};

// Integers that a double cannot hold come back as texts.
const toExact = (_key: string, value: unknown): unknown =>
  Number.isInteger(value) && !Number.isSafeInteger(value) ? String(value) : value;
