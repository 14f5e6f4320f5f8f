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

/** How far a call is: `progress` of `total`, in any unit, rising; and what is being done. */
export type ToolProgress = {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
};

/** What a handler may know about the call it answers. */
export type ToolContext = {
  /** Aborted at the deadline of the call and when the client goes away. */
  readonly signal: AbortSignal;
  /** An opaque key of the session, the same for all its calls; null without a session. Never the caller's own id. */
  readonly session: string | null;
  /** The tenant of the caller, as the operator named it with the caller's key; null where callers have no keys. */
  readonly tenant: string | null;
  /**
   * Who of the tenant called: 32 hex digits, the same for all calls of one key or one subject of tokens, in every replica
   * and after a restart; null where callers have no keys. Never the key itself.
   */
  readonly caller: string | null;
  /** The id the model gave the call. */
  readonly callId: string | number | null;
  readonly log: ToolLog;
  /** Tells whoever watches how far the call is. At most a thousand a call are passed on. */
  readonly progress: (update: ToolProgress) => void;
  /**
   * Shows people a piece of what the call makes, before its result: any JSON value, sent to who reads the answer as a stream,
   * and to nobody else. No part of the result: a model never sees it. Of a call a thousand parts of at most 256 KiB each, 4 MiB
   * together, are passed on; a slow reader misses some.
   */
  readonly part: (value: unknown) => void;
  /** What a repeat of this call may do, as it holds for the service: the operator may say otherwise than the tool. */
  readonly effects: Effects;
  /** How many retries of this tool the session still has, should this call fail. */
  readonly retriesLeft: number;
  readonly isLastAttempt: boolean;
  /**
   * Milliseconds that this call has, from when its handler starts: the least of the tool's own limit, what its caller
   * gave it, and what its batch has left.
   */
  readonly timeoutMs: number;
  /**
   * The same for each repeat of this very call, for an upstream that takes such keys; null where the batch came without
   * an Idempotency-Key.
   */
  readonly idempotencyKey: string | null;
  /**
   * What the effect of this call is known by, `e_` and 22 characters of base64url: the same for each repeat of a call with an
   * Idempotency-Key and of a pending call, in every replica; else its own. Send it upstream as the idempotency key or reference of
   * a write, so that the write is found again by it.
   */
  readonly effectId: string;
  /** The W3C `traceparent` of this call, for requests to an upstream; null where the batch is not traced. */
  readonly traceparent: string | null;
};

/** Arguments that passed the schema, bound to their handler. Only `Tool.prepare` makes one. */
export type Invocation = {
  /** Runs the handler. May return anything, a promise too, and may throw anything. */
  readonly run: (context: ToolContext) => unknown;
  /** Looks whether an earlier run with these arguments took effect. Of a tool that can; may do the same. */
  readonly reconcile?: (startedAt: number, context: ToolContext) => unknown;
  /** Says whether a person has to approve a call with these arguments; left out where the tool says nothing. May do the same. */
  readonly approval?: (context: ToolContext) => unknown;
  /** Tells what `run` would do, without doing it. Of a tool that can; may do the same. */
  readonly preview?: (context: ToolContext) => unknown;
};

export type Prepared =
  | { readonly ok: true; readonly invocation: Invocation }
  | { readonly ok: false; readonly issues: readonly Issue[] };

/**
 * `never`: its calls end with their request. `optional`: a caller that prefers an asynchronous answer (RFC 7240,
 * `respond-async`) gets one; for others it runs as any other tool. `always`: it runs for such callers only.
 */
export const BACKGROUND = ['never', 'optional', 'always'] as const;
export type Background = (typeof BACKGROUND)[number];

/** The longest time of a timer in milliseconds: a longer setTimeout fires at once. */
export const MAX_TIMER_MS = 2_147_483_647;

/** How long a background call may take, and the longest that a tool may ask for, in milliseconds. */
export const DEFAULT_MAX_DURATION_MS = 3_600_000;
export const LONGEST_DURATION_MS = 86_400_000;

/** Something outside this service that calls go to: an MCP server, an API. Its tools share one breaker and one limit. */
export type Upstream = {
  /** Unique in the service: `mcp:github`, `openapi:petstore`. */
  readonly name: string;
  /** How many calls may run at once in this process, over all its tools. */
  readonly concurrency: number;
};

/** How the configuration file says that writes of a tool are looked for: by asking another tool. */
export type ReconcileBy = {
  /** The other tool. */
  readonly tool: string;
  /** What it is asked with: texts have `PLACEHOLDER`s for the effect id and for arguments of the write. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** JSON Pointer (RFC 6901) into its value: what is found there, and is not null, is the value of the write, which happened. */
  readonly happened: string;
  /** Nothing there says that the write did not happen and will not; else it says nothing. */
  readonly final: boolean;
  /** How long after the end of a run it may still take effect, in milliseconds. */
  readonly afterMs: number;
};

/** What is known of a tool wherever it runs. */
export type ToolFacts = {
  /** A reducer is run like a tool, over a session's journal, and no model ever sees it. */
  readonly role: 'tool' | 'reducer';
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
  /** How many calls may run at once in this process; null = as the service says. */
  readonly concurrency: number | null;
  /** How many calls of it may run in one session; null = as many as come. */
  readonly maxCallsPerSession: number | null;
  /** The same call with the same answer is how it is meant to be used. */
  readonly polling: boolean;
  /** Whether a call may go on after its request has been answered: never, where the caller agrees, or in no other way. */
  readonly background: Background;
  /** Milliseconds from acceptance to the end of a call that goes on after its request; for others `timeoutMs` holds. */
  readonly maxDurationMs: number;
  /** The argument that says which upstream a call talks to; null = always the same one, or a function tells. */
  readonly breakerKey: string | null;
  /** How long a look at whether its write took effect may take, in milliseconds; null = its code cannot look. */
  readonly reconcileTimeoutMs: number | null;
  /** Its code says of each call whether a person has to approve it. */
  readonly asksApproval: boolean;
  /** How an operator says that its writes are looked for, before its own code; null = does not say. */
  readonly reconcileBy: ReconcileBy | null;
  /** Whether its code can tell what a call would do. */
  readonly previews: boolean;
  /** What all its calls go to; null = nothing that it shares with other tools. */
  readonly upstream: Upstream | null;
  /** Where it comes from, for people: `builtin`, a file. */
  readonly source: string;
  /** One valid-looking arguments object as JSON text, for messages. */
  readonly exampleArguments: string;
  /** What a tool of a tools directory asks for; the service's own tools always run inside it. */
  readonly isolation: 'process' | 'own' | 'inline';
  /** Environment variables that its process should get beside those all get. */
  readonly env: readonly string[];
};

/** A tool that runs inside this process: what is known of it, and functions that may throw. */
export type InlineTool = ToolFacts & {
  readonly runsIn: 'service';
  /** Checks the arguments against the schema. A promise only where the schema itself is asynchronous. */
  readonly prepare: (input: Readonly<Record<string, unknown>>) => Prepared | Promise<Prepared>;
  /**
   * How it is prepared where an operator names what carries the effect id of each call upstream. Left out where its schema is
   * code: such a tool reads `context.effectId` itself.
   */
  readonly prepareWithEffectId?: {
    /** Checks arguments against this schema instead of its own; its handler gets what `complete` makes of them. Throws where the schema cannot be compiled. */
    readonly inArgument: (
      inputSchema: JsonSchema,
      complete: (checked: Readonly<Record<string, unknown>>, effectId: string) => Readonly<Record<string, unknown>>,
    ) => InlineTool['prepare'];
    /** Sends it in this header of each request; a text: why it does not. Left out: it sends no such requests. */
    readonly inHeader?: (name: string) => InlineTool['prepare'] | string;
  };
  /** What is wrong with the output, empty where nothing is; null where the tool declared no output schema. */
  readonly checkOutput: ((value: unknown) => readonly Issue[] | Promise<readonly Issue[]>) | null;
  /** A failure hidden in a returned value, as the tool declares it; undefined where the value is a success. */
  readonly extractError: ((value: unknown) => unknown) | null;
  /**
   * Which upstream a call with these arguments talks to, whether an argument or a function says so; null = always the
   * same one. Asked before the arguments are checked.
   */
  readonly breakerKeyOf: ((input: Readonly<Record<string, unknown>>) => unknown) | null;
  /**
   * Tears down what its `setup` made in this process, once no call uses it; a later call sets up anew. Rejects with what the
   * teardown throws. Left out where it has no `setup`.
   */
  readonly close?: () => Promise<void>;
  /** The JavaScript of its handlers, for whoever checks a declaration. Left out where it has no `reconcile`. */
  readonly handlerTexts?: { readonly run: string; readonly reconcile: string };
};

/** A file of a tools directory in one version; a new version is a new object. Its sources are kept: the file on disk may be edited, or broken, by now. */
export type ToolFile = {
  /** Absolute. */
  readonly path: string;
  /** The tools directory. */
  readonly root: string;
  /** Absolute path → text, of all source files of the directory as they were read together. */
  readonly sources: ReadonlyMap<string, string>;
};

/** A tool whose code is only ever loaded by tool hosts, processes of their own. */
export type HostedTool = ToolFacts & { readonly runsIn: 'host'; readonly file: ToolFile };

/**
 * Where calls of a hosted tool run: in processes that other files use in turn (`shared`), in processes of its file (`own`),
 * in either with no other call beside it (`alone`).
 */
export type Placing = 'shared' | 'own' | 'alone';

export type Tool = InlineTool | HostedTool;

/** What a tool is where its declaration does not say otherwise. */
export const UNSTATED = {
  outputSchema: null,
  retries: 0,
  gracefulErrors: null,
  sequential: false,
  concurrency: null,
  maxCallsPerSession: null,
  polling: false,
  background: 'never',
  maxDurationMs: DEFAULT_MAX_DURATION_MS,
  breakerKey: null,
  reconcileTimeoutMs: null,
  reconcileBy: null,
  asksApproval: false,
  previews: false,
  upstream: null,
  source: 'builtin',
  isolation: 'process',
  env: [],
} as const satisfies Partial<ToolFacts>;

/** Whether a repeat can do no harm. */
export const isSafe = (tool: Pick<Tool, 'effects'>): boolean => tool.effects !== 'write';

// Whoever works until the end is cut off, and what is known by then is lost.
const MARGIN_SHARE = 0.1;
const LEAST_MARGIN_MS = 250;
const MOST_MARGIN_MS = 2_000;

/**
 * How many of the milliseconds that a call has (`ToolContext.timeoutMs`) its work may take, a whole number: the rest, a
 * tenth but at least 0.25 s and at most 2 s, is for telling what is known until then. Never less than half of them.
 */
export const toWorkMs = (timeoutMs: number): number => {
  const marginMs = Math.min(Math.max(timeoutMs * MARGIN_SHARE, LEAST_MARGIN_MS), MOST_MARGIN_MS);
  return Math.ceil(timeoutMs - Math.min(marginMs, timeoutMs / 2));
};
