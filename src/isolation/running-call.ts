import type { CallOutcome } from '../executor/call-outcome.ts';
import type { Death } from './isolation-observer.ts';

/** What came of a call in a host: its end, or the host's. `began`: the handler may have run. */
export type HostedEnd =
  | { readonly kind: 'ended'; readonly outcome: CallOutcome }
  | { readonly kind: 'died'; readonly death: Death; readonly began: boolean };

/** A call that was sent to a host. */
export type RunningCall = {
  readonly nonce: string;
  readonly begin: () => void;
  readonly hasBegun: () => boolean;
  readonly die: (death: Death) => void;
};

// A host that is free begins within a millisecond; a machine that is busy may keep it from that for a while.
const LONGEST_SILENCE_MS = 2000;
const SHORTEST_SILENCE_MS = 200;

// A call with a short limit must have time left for another host.
const toSilenceMs = (timeoutMs: number): number =>
  Math.max(SHORTEST_SILENCE_MS, Math.min(LONGEST_SILENCE_MS, timeoutMs / 2));

/** `onSilence`: what runs on from an earlier call holds it up; it has not begun, so another host may run it. */
export const createRunningCall = (
  { nonce, timeoutMs }: { readonly nonce: string; readonly timeoutMs: number },
  onSilence: () => void,
  resolve: (end: HostedEnd) => void,
): RunningCall => {
  let began = false;
  // Only after another look at the channel: where this process itself was held up, the word is there already.
  const timer = setTimeout(() => setImmediate(() => began || onSilence()), toSilenceMs(timeoutMs));
  return {
    nonce,
    hasBegun: () => began,
    begin: () => {
      began = true;
      clearTimeout(timer);
    },
    die: (death) => {
      clearTimeout(timer);
      resolve({ kind: 'died', death, began });
    },
  };
};
