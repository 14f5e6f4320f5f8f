import type { CallObserver } from './call-observer.ts';

const ignore = (): void => undefined;

/** Counts and logs nothing: for testers, and for measuring what the other one costs. */
export const SILENT_OBSERVER: CallObserver = {
  toolInvoked: ignore,
  batchAnswered: ignore,
  budgetDecided: ignore,
  callQueued: ignore,
  callUnqueued: ignore,
  callStarted: ignore,
  callEnded: ignore,
  shed: ignore,
  toolsOffered: ignore,
  lateResult: ignore,
  deadlineOverrun: ignore,
  loopDetected: ignore,
  keyUsed: ignore,
  contractViolated: ignore,
};
