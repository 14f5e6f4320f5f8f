import type { Effects } from '../contract/failure.ts';
import type { JsonSchema } from '../contract/tool-description.ts';
import type { Issue } from '../contract/tool-result.ts';

/** Writes to the service's log with the call's ids on every line. `message` is constant, data goes into `fields`. */
export type ToolLog = {
  readonly [level in 'debug' | 'info' | 'warn' | 'error']: (
    message: string,
    fields?: Readonly<Record<string, unknown>>,
  ) => void;
};

/** What a handler may know about the call it answers. */
export type ToolContext = {
  /** Aborted at the deadline of the call and when the client goes away. */
  readonly signal: AbortSignal;
  /** An opaque key of the session, the same for all its calls; null without a session. Never the caller's own id. */
  readonly session: string | null;
  /** The id the model gave the call. */
  readonly callId: string | number | null;
  readonly log: ToolLog;
  /** How many retries of this tool the session still has, should this call fail. */
  readonly retriesLeft: number;
  readonly isLastAttempt: boolean;
};

/** Arguments that passed the schema, bound to their handler. Only `Tool.prepare` makes one. */
export type Invocation = {
  /** Runs the handler. May return anything, a promise too, and may throw anything. */
  readonly run: (context: ToolContext) => unknown;
};

export type Prepared =
  | { readonly ok: true; readonly invocation: Invocation }
  | { readonly ok: false; readonly issues: readonly Issue[] };

/** A tool as the executor knows it: its metadata, and three functions that may throw. */
export type Tool = {
  readonly name: string;
  readonly description: string;
  readonly effects: Effects;
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema | null;
  /** N retries = N + 1 failed rounds in a row. */
  readonly retries: number;
  readonly timeoutMs: number;
  /** null = as the service says (GRACEFUL_TOOL_ERRORS). */
  readonly gracefulErrors: boolean | null;
  /** A barrier in a batch: calls before it finish first, calls after it wait. */
  readonly sequential: boolean;
  /** How many calls may run at once in this process; null = no limit of its own. */
  readonly concurrency: number | null;
  /** Where it comes from, for people: `builtin`, a file. */
  readonly source: string;
  /** One valid-looking arguments object as JSON text, for messages. */
  readonly exampleArguments: string;
  /** Checks the arguments against the schema. A promise only where the schema itself is asynchronous. */
  readonly prepare: (input: Readonly<Record<string, unknown>>) => Prepared | Promise<Prepared>;
  /** What is wrong with the output, empty where nothing is; null where the tool declared no output schema. */
  readonly checkOutput: ((value: unknown) => readonly Issue[] | Promise<readonly Issue[]>) | null;
  /** A failure hidden in a returned value, as the tool declares it; undefined where the value is a success. */
  readonly extractError: ((value: unknown) => unknown) | null;
};

/** Whether a repeat can do no harm. */
export const isSafe = (tool: Pick<Tool, 'effects'>): boolean => tool.effects !== 'write';
