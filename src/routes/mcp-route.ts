import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ToolDescription } from '../contract/tool-description.ts';
import type { EndedSessions } from '../executor/session-store.ts';
import type { OpenReadings } from './open-readings.ts';
import type { PendingTasks } from './pending-tasks.ts';
import type { GateOptions, RequestCaller } from './request-gate.ts';
import type { SessionsOptions } from './sessions.ts';
import type { ToolCallsOptions } from './tool-calls.ts';

/** Adds `/mcp`, by which clients of the Model Context Protocol list and call the tools. */
export type AddMcpRoute = (app: FastifyInstance, options: McpRouteOptions) => void;

export type McpRouteOptions = Pick<
  ToolCallsOptions,
  'executeBatch' | 'toSessionKey' | 'toRecordKey' | 'toRequestKey' | 'createId' | 'maxDeadlineMs'
> &
  Pick<GateOptions, 'onRefused'> &
  Pick<SessionsOptions, 'endSession' | 'isUnavailable'> & {
    readonly callerOf: (request: FastifyRequest) => RequestCaller;
    readonly describeTools: () => readonly ToolDescription[];
    /** What results promise of a tool's answer, and which headers repeat its arguments. */
    readonly findTool: (name: string) => DoorTool | undefined;
    /** Begins to hear of changes of the tools that are offered; gives the way to end that. */
    readonly watchTools: (listener: () => void) => () => void;
    /** The session of a call that names none: none, or one for all such calls of a key. */
    readonly mcpDefaultSession: 'none' | 'key';
    readonly endedSessions: EndedSessions;
    /** Calls that outlive their requests, as tasks of 2026-07-28. Left out: there are none. */
    readonly pendingTasks?: PendingTasks | undefined;
    readonly readings: Pick<OpenReadings, 'watch'>;
    /** Aborted when the service stops: streams that wait for changes end. */
    readonly draining: AbortSignal;
    readonly version: string;
    readonly onBug: (error: unknown, requestId: string) => void;
  };

/** Whether a call may go on after its request: never, where the caller agrees, or in no other way. */
export type Background = 'never' | 'optional' | 'always';

/** A tool as far as the door looks at it. */
type DoorTool = {
  /** Left out: `never`. */
  readonly background?: Background;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema: Readonly<Record<string, unknown>> | null;
};
