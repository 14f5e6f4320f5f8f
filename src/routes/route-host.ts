import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller, Operation } from '../auth/callers.ts';
import type { ToolDescription } from '../contract/tool-description.ts';
import type { ExecuteBatch } from '../executor/batch-request.ts';
import type { EndedSessions } from '../executor/session-store.ts';
import type { StreamOptions } from './event-stream.ts';
import type { PendingTasks } from './pending-tasks.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The operation that a key needs for this route, and no other, before its body is read. Left out: by path and method. */
    readonly operation?: Operation;
  }
}

/** What routes of extensions get of the service. */
export type RouteHost = {
  /** Who sent the request: its tenant, which operations its key has and which tools it may use. Throws where nobody is known. */
  readonly callerOf: (request: FastifyRequest) => Caller;
  /** The JSON of its body, parsed; undefined: it has none. `request.body` has its text beside it. */
  readonly bodyOf: (request: FastifyRequest) => unknown;
  /** Tells log and metrics of a request that its key may not make. */
  readonly tellRefused: (request: FastifyRequest) => void;
  /** All tools that are offered now. */
  readonly describeTools: () => readonly ToolDescription[];
  /** What results promise of a tool's answer, and which headers repeat its arguments; undefined: there is no such tool. */
  readonly findTool: (name: string) =>
    | {
        /** Left out: `never`. */
        readonly background?: Background;
        readonly inputSchema: Readonly<Record<string, unknown>>;
        readonly outputSchema: Readonly<Record<string, unknown>> | null;
      }
    | undefined;
  /** Begins to hear of changes of the tools that are offered; gives the way to end that. */
  readonly watchTools: (listener: () => void) => () => void;
  readonly executeBatch: ExecuteBatch;
  /** The most that a batch may ask for, in milliseconds. */
  readonly maxDeadlineMs: number;
  readonly createId: () => string;
  /** An opaque key for a tenant's session. */
  readonly toSessionKey: (tenant: string, sessionId: string) => string;
  /** An opaque key for a tenant's Idempotency-Key. */
  readonly toRecordKey: (tenant: string, key: string) => string;
  /** An opaque key for a tenant's request id. */
  readonly toRequestKey: (tenant: string, requestId: string) => string;
  readonly endSession: (sessionKey: string) => Promise<void>;
  readonly endedSessions: EndedSessions;
  /** Whether something rejected because the store cannot answer now. */
  readonly isUnavailable: (error: unknown) => boolean;
  /** Calls that outlive their requests, as tasks of MCP 2026-07-28. Left out: there are none. */
  readonly pendingTasks?: PendingTasks | undefined;
  /** Follows the rights of a caller to an answer that is not whole yet. */
  readonly readings: {
    readonly watch: (reply: FastifyReply) => Reading;
    /** The same of an answer that takes a place among all that wait or stream; null: there is none. */
    readonly open: (reply: FastifyReply) => Reading | null;
  };
  readonly streams: StreamOptions;
  /** Aborted when the service stops: streams that wait for changes end. */
  readonly draining: AbortSignal;
  /** Pages that extensions add to the console, by the names of the extensions: what its link says, and the text of its module. */
  readonly consolePages: ReadonlyMap<string, { readonly title: string; readonly script: string }>;
  readonly version: string;
  /** Logs an error that no caller sees. */
  readonly onBug: (error: unknown, requestId: string) => void;
};

/** An answer that is not whole yet: a long poll, a stream, or a batch that waits for its pending calls. */
export type Reading = {
  /** Resolves when its connection has closed, or when its caller has lost the right to the answer. */
  readonly over: Promise<void>;
  /** Whether its caller has lost the right to the answer. */
  readonly isLost: () => boolean;
  /** Throws the problem that its caller gets if it has lost that right. */
  readonly requireRight: () => void;
  /** The answer shows calls of these tools from now on. */
  readonly shows: (tools: readonly (string | null)[]) => void;
};

/** What an extension adds to the HTTP side. */
export type AddedRoutes = {
  /** Each asks for a key with the operation `call`, or with `operate` where its `config` says so, before its handler runs. */
  readonly addRoutes?: (app: FastifyInstance, host: RouteHost) => void;
  /** Name → path of what it serves, for GET /. */
  readonly links?: Readonly<Record<string, string>>;
};

/** Whether a call may go on after its request: never, where the caller agrees, or in no other way. */
export type Background = 'never' | 'optional' | 'always';
