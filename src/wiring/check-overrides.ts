import type { Logger } from 'pino';
import type { OfferBoard, UnmatchedOverride } from '../tools/offers/offer-board.ts';
import type { UpstreamState } from '../tools/offers/tool-source.ts';

export type OverrideCheck = {
  /** From now on every tool should be there. */
  readonly begin: () => void;
  /** Looks at what is offered now. */
  readonly look: () => void;
  /** There are other overrides: each may be told of again. */
  readonly forget: () => void;
  /** Nothing is told any more. */
  readonly stop: () => void;
};

// As long as the start waits for what is to be reached.
const PATIENCE_MS = 10_000;

/**
 * Tells once of each override that no tool is called like: when everything that has tools has been reached, and for want
 * of that after a while, naming what has not.
 */
export const createOverrideCheck = (
  board: Pick<OfferBoard, 'findUnmatched'>,
  upstreams: () => readonly UpstreamState[],
  log: Logger,
  patienceMs = PATIENCE_MS,
): OverrideCheck => {
  const told = new Set<string>();
  const toldForNow = new Set<string>();
  const state = { hasBegun: false, isPatient: true, isStopped: false };
  const tell = ({ pattern, nearest }: UnmatchedOverride, notReached: readonly string[]): void => {
    const isNews = !told.has(pattern) && (notReached.length === 0 || !toldForNow.has(pattern));
    if (!isNews) return;
    if (notReached.length === 0) log.warn({ override: pattern, nearest }, NONE);
    else log.warn({ override: pattern, nearest, notReached }, NONE_YET);
    (notReached.length === 0 ? told : toldForNow).add(pattern);
  };
  const look = (): void => {
    if (!state.hasBegun || state.isStopped) return;
    const notReached = upstreams().filter(isNotReached);
    if (notReached.length > 0 && state.isPatient) return;
    const names = notReached.map(({ name }) => name);
    for (const unmatched of board.findUnmatched()) tell(unmatched, names);
  };
  const wait = (): NodeJS.Timeout => {
    state.isPatient = true;
    return setTimeout(() => {
      state.isPatient = false;
      look();
    }, patienceMs).unref();
  };
  let waiting = wait();
  return {
    begin: () => {
      state.hasBegun = true;
      look();
    },
    look,
    forget: () => {
      told.clear();
      toldForNow.clear();
      clearTimeout(waiting);
      waiting = wait();
    },
    stop: () => {
      state.isStopped = true;
      clearTimeout(waiting);
    },
  };
};

const isNotReached = ({ status }: UpstreamState): boolean => status === 'connecting' || status === 'down';

const NONE = 'no tool is called like this entry of the configuration file';
const NONE_YET = 'no tool that is known yet is called like this entry of the configuration file';
