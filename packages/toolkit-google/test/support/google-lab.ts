import { type CredentialsKind, writeCredentials } from '@recourse/test-support/google/google-credentials.ts';
import {
  type GoogleStandIn,
  type StandInRoute,
  startGoogleStandIn,
} from '@recourse/test-support/google/google-stand-in.ts';
import { createMemoryPageTokens } from '@recourse/test-support/memory-page-tokens.ts';
import { roomyMemory } from '@recourse/test-support/roomy-memory.ts';
import type { PageTokens } from 'recourse-server/internal/tools/page-tokens.ts';
import type { InlineTool, ToolContext } from 'recourse-server/internal/tools/tool.ts';
import { TOOL_ERROR } from 'recourse-server/internal/tools/tool-errors.ts';
import { isToldValue, toldKind } from 'recourse-server/internal/tools/tool-values.ts';
import { onTestFinished } from 'vitest';
import { GoogleAccess } from '#src/google-access.ts';

export type GoogleLabOptions = {
  readonly routes: readonly StandInRoute[];
  readonly credentials?: CredentialsKind;
  /** Instead of a file of `credentials`. */
  readonly credentialsPath?: string;
  readonly subject?: string;
  readonly limits?: { readonly readMs: number; readonly signInMs: number };
  readonly expiresIn?: number;
  readonly signIn?: StandInRoute;
  readonly takesAnyToken?: boolean;
};

/** Access to Google as the service has it, before a stand-in. Ends with the test. */
export type GoogleLab = {
  readonly standIn: GoogleStandIn;
  readonly google: GoogleAccess;
  readonly pageTokens: PageTokens;
  /** What was registered as secret, in order. */
  readonly secrets: readonly string[];
};

export const startGoogleLab = async (options: GoogleLabOptions): Promise<GoogleLab> => {
  const { routes, credentials, subject, limits, expiresIn, signIn, takesAnyToken = false } = options;
  const standIn = await startGoogleStandIn({
    routes,
    takesAnyToken,
    ...(expiresIn === undefined ? {} : { expiresIn }),
    ...(signIn === undefined ? {} : { signIn }),
  });
  const secrets: string[] = [];
  const google = new GoogleAccess({
    credentialsPath: options.credentialsPath ?? writeCredentials(credentials),
    subject,
    apiUrl: standIn.url,
    registerSecrets: (values) => void secrets.push(...values),
    ...(limits === undefined ? {} : { limits }),
  });
  onTestFinished(google.close);
  const pageTokens = createMemoryPageTokens({ memory: roomyMemory(), ttlMs: 60_000, now: Date.now });
  return { standIn, google, pageTokens, secrets };
};

/** What a call came to, without any of the executor's guards. */
export type CallEnd =
  | { readonly kind: 'ok' | 'empty'; readonly value: unknown; readonly message: string }
  | {
      readonly kind: 'failure';
      readonly code: string;
      readonly message: string;
      readonly retryAfterMs: unknown;
      readonly executed: unknown;
      /** The error and its causes, as a log would show them. */
      readonly whole: string;
    };

const ignore = (): void => undefined;

/** Calls a tool. Arguments that the schema refuses end as `invalid_arguments`; a value that is no output as an exception. */
export const callTool = async (
  tool: InlineTool,
  input: Readonly<Record<string, unknown>>,
  {
    session = 's1',
    signal = new AbortController().signal,
    timeoutMs = 30_000,
  }: { readonly session?: string | null; readonly signal?: AbortSignal; readonly timeoutMs?: number } = {},
): Promise<CallEnd> => {
  const prepared = await tool.prepare(input);
  if (!prepared.ok) {
    const message = prepared.issues.map((issue) => issue.message).join('\n');
    return {
      kind: 'failure',
      code: 'invalid_arguments',
      message,
      retryAfterMs: undefined,
      executed: 'no',
      whole: message,
    };
  }
  const context = toContext(tool, { session, signal, timeoutMs });
  try {
    return await toEnd(tool, await prepared.invocation.run(context));
  } catch (thrown) {
    return toFailureEnd(thrown);
  }
};

/** As in the service, a copy of the context has no signal: it is no member of its own. */
const toContext = (
  tool: InlineTool,
  { session, signal, timeoutMs }: Pick<ToolContext, 'session' | 'signal' | 'timeoutMs'>,
): ToolContext => {
  const live: Pick<ToolContext, 'signal'> = Object.create({ signal });
  return Object.assign(live, {
    session,
    callId: null,
    log: { debug: ignore, info: ignore, warn: ignore, error: ignore },
    progress: ignore,
    part: ignore,
    effects: tool.effects,
    retriesLeft: 3,
    timeoutMs,
    isLastAttempt: false,
    idempotencyKey: null,
    effectId: 'e_0123456789abcdefghijkl',
    traceparent: null,
    tenant: null,
    caller: null,
  });
};

const toEnd = async (tool: InlineTool, given: unknown): Promise<CallEnd> => {
  const isTold = typeof given === 'object' && given !== null && isToldValue(given);
  const value = isTold ? given.value : given;
  const issues = (await tool.checkOutput?.(value)) ?? [];
  if (issues.length > 0) throw new TypeError(issues.map(({ path, message }) => `${path}: ${message}`).join('\n'));
  return isTold ? { kind: toldKind(given), value, message: given.message } : { kind: 'ok', value, message: '' };
};

const CODES: Readonly<Record<string, string>> = {
  retryable: 'retry_requested',
  terminal: 'tool_failed',
  upstream_rate_limited: 'upstream_rate_limited',
  upstream_unavailable: 'upstream_unavailable',
};

const toFailureEnd = (thrown: unknown): CallEnd => {
  if (!(thrown instanceof Error)) throw thrown;
  const code = TOOL_ERROR in thrown ? (CODES[String(thrown[TOOL_ERROR])] ?? 'unknown') : thrown.name;
  return {
    kind: 'failure',
    code,
    message: thrown.message,
    retryAfterMs: 'retryAfterMs' in thrown ? thrown.retryAfterMs : undefined,
    executed: 'executed' in thrown ? thrown.executed : undefined,
    whole: toWhole(thrown),
  };
};

const toWhole = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return String(thrown);
  return `${thrown.stack}\n${JSON.stringify(thrown)}\n${thrown.cause === undefined ? '' : toWhole(thrown.cause)}`;
};
