import type { ToolRepeats } from './loop-guard.ts';

/** All that counts in a session; its journal is kept apart. */
export type SessionState = {
  /** Names this life of the session. */
  readonly born: string;
  readonly tools: Map<string, ToolState>;
  /** Retries whose outcome was never reported: lost for the session, not for the tool. */
  lost: number;
  /** The last named round, if it has named known tools only so far and unknown names have failed; else "". */
  knownRound: string;
  rounds: number;
  /** Calls that run, ran, or may have run. */
  calls: number;
  /** The same of each tool that limits its calls. */
  readonly callsOf: Map<string, number>;
  /** Named rounds that further batches may join. Oldest first. */
  namedRounds: readonly {
    readonly id: string;
    readonly step: number;
    readonly joinUntil: number;
    /** One of its batches has called a name that no tool has. */
    readonly namesUnknown?: boolean;
  }[];
  readonly repeats: Map<string, ToolRepeats>;
};

/** What a session remembers of one tool's failures. */
export type ToolState = {
  /** Failed rounds in a row. */
  failures: number;
  /** Retries that failed. */
  used: number;
  /** +1 with every failed round, never set back. */
  epoch: number;
  /** Time of the last failed round, Unix milliseconds. */
  failedAt: number;
  lastError: string;
  /** Of rounds under way, and of named rounds that have ended. */
  reservations: Reservation[];
};

/** What a round has come to so far, all its settled batches together. */
export const VERDICTS = ['none', 'failed', 'succeeded', 'over'] as const;

/**
 * What a round has reserved of one tool, so that all batches of a named round count as one. A round without a name that is no
 * retry needs none.
 *
 * | verdict   | a failed batch makes it | a succeeded one | a mixed one | holds a retry (`retry`)  | counted in the tool |
 * |-----------|-------------------------|-----------------|-------------|--------------------------|---------------------|
 * | none      | failed: charged         | succeeded       | over        | while a batch runs       | no                  |
 * | failed    | -                       | over: returned  | over: returned | no: it is used        | yes, once           |
 * | succeeded | over                    | -               | over        | while a batch runs       | no                  |
 * | over      | -                       | -               | -           | while a batch runs       | no                  |
 *
 * A tool that is made clean turns its charged rounds from failed to over. A reservation is dropped at the end of its lease; before that
 * where no batch runs and none can join, or 16 later rounds have ended.
 */
export type Reservation = {
  /** The batch that made it. */
  readonly id: string;
  /** "" for a round without a name. */
  readonly round: string;
  retry: boolean;
  /** The tool's epoch when the round began. */
  readonly epoch: number;
  /** Until when further batches of the round may join: one lease from its start. Without that bound a name would give free retries. */
  readonly joinUntil: number;
  lease: number;
  /** Batches of the round that have not settled. */
  running: number;
  verdict: (typeof VERDICTS)[number];
};

export const createSessionState = (born: string): SessionState => ({
  born,
  tools: new Map(),
  lost: 0,
  knownRound: '',
  rounds: 0,
  calls: 0,
  callsOf: new Map(),
  namedRounds: [],
  repeats: new Map(),
});

/** The tool's state, kept from now on. */
export const toolState = (session: SessionState, name: string): ToolState => {
  const tool = findTool(session, name);
  session.tools.set(name, tool);
  return tool;
};

/** The tool's state to look at: that of a tool that never failed is not kept. */
export const findTool = (session: SessionState, name: string): ToolState =>
  session.tools.get(name) ?? { failures: 0, used: 0, epoch: 0, failedAt: 0, lastError: '', reservations: [] };
