import type { ToolProgress } from '../tools/tool.ts';
import type { AnswerSize } from './answer-size.ts';
import type { BatchArguments } from './batch-arguments.ts';
import type { BatchEnd } from './batch-end.ts';
import type { BatchTrace } from './batch-trace.ts';
import type { CreateCallLog } from './call-context.ts';
import type { RanCall } from './call-end.ts';
import type { CallObserver } from './call-observer.ts';
import type { CircuitBreakers } from './circuit/circuit-breakers.ts';
import type { KeyedRun } from './idempotency/keyed-run.ts';
import type { CallSlots } from './overload/call-slots.ts';
import type { RunHosted } from './run-hosted.ts';
import type { CallVerdict, Permit } from './session-store.ts';
import type { TurnShare } from './turn-share.ts';

/** What the calls of one batch share while they run. */
export type RunningBatch = {
  readonly requestId: string;
  readonly session: string | null;
  /** Between whom the slots of the service are shared. */
  readonly caller: string;
  readonly given: BatchArguments;
  readonly end: BatchEnd;
  readonly permits: ReadonlyMap<string, Permit>;
  /** By index: what limits and loop guard say; empty where they say nothing. */
  readonly verdicts: ReadonlyMap<number, CallVerdict>;
  /** By index: ends that stood before the batch ran, kept by an earlier try of it or refused without asking the session. */
  readonly settled: ReadonlyMap<number, RanCall>;
  readonly keyed: { readonly key: string; readonly run: KeyedRun } | null;
  readonly isDraining: () => boolean;
  readonly size: AnswerSize;
  readonly trace: BatchTrace | null;
  /** Hears how far a call is, by its index. */
  readonly onProgress: ((index: number, update: ToolProgress) => void) | null;
};

export type CallSettings = {
  readonly gracefulErrors: 'on' | 'off';
  readonly maxResultBytes: number;
  readonly sessionRetries: number;
  readonly now: () => number;
  readonly slots: CallSlots;
  readonly createLog: CreateCallLog;
  readonly observer: CallObserver;
  readonly circuits: CircuitBreakers;
  /** Runs the calls of tools whose code lives in processes of its own. */
  readonly runHosted: RunHosted;
  readonly turns: TurnShare;
};
