import type { SlotRequest } from '../executor/call-slots.ts';
import type { ConcurrencySettings } from './concurrency-limit.ts';
import { createPace, type Pace } from './pace.ts';
import { hasRoom, isFull, type SlotCounts, widthOf } from './slot-counts.ts';
import type { Caller, Lane, WaitingCalls } from './waiting-calls.ts';

/** What can be told of the time ahead, from how long calls took so far. Rather too hopeful than too strict. */
export type WaitEstimate = {
  /** Of all calls of the service. */
  readonly pace: Pace;
  /** A newcomer would not get its slot early enough, or its tool gives none back at all. */
  readonly cannotBeInTime: (request: SlotRequest, lane: Lane, caller: Caller, moment: number) => boolean;
  /** The time of the call is over, or less is left than its tool usually takes. */
  readonly isTooLate: (request: SlotRequest, lane: Lane, moment: number) => boolean;
  /** In how many milliseconds those that wait, for this tool or at all, should have had their turn. */
  readonly retryAfterMs: (lane: Lane | null) => number;
};

const LEAST_RETRY_MS = 100;
const USUAL_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 30_000;
// A tool, or an upstream, that gives back no slot for twice its time limit, and at least so long, hangs: nobody should wait for it.
const LEAST_STUCK_MS = 10_000;

// The guess is one: what is let in should end before its deadline, not just at it.
const WAIT_MARGIN = 1.2;
const RUN_MARGIN = 1.5;

const isHosted = ({ tool }: Lane): boolean => tool.runsIn === 'host';

export const createWaitEstimate = (
  { maxConcurrentCalls, callerConcurrency, maxHostedCalls }: ConcurrencySettings,
  counts: SlotCounts,
  waiting: WaitingCalls,
  turnMs: () => number,
): WaitEstimate => {
  const pace = createPace();
  /** Before a caller's next call each other caller has as many turns as itself. */
  const aheadOfAll = (caller: Caller): number => Math.min(waiting.size(), caller.waiting * waiting.callers());
  const aheadInLane = (lane: Lane, caller: Caller): number =>
    Math.min(lane.waiting, (caller.lines.get(lane)?.calls.size ?? 0) * lane.lines.size);
  /** How many calls run at once of whatever holds this tool's calls up; the fewest count. */
  const toLaneWidth = (lane: Lane): number =>
    Math.min(
      lane.running < lane.limit ? Number.POSITIVE_INFINITY : lane.limit,
      lane.upstream !== null && isFull(lane.upstream) ? lane.upstream.limit : Number.POSITIVE_INFINITY,
      isHosted(lane) && counts.areAllTaken('hosts') ? maxHostedCalls : Number.POSITIVE_INFINITY,
    );
  const toWaitMs = (lane: Lane, caller: Caller): number =>
    Math.max(
      (aheadInLane(lane, caller) * lane.pace.meanMs()) / toLaneWidth(lane),
      aheadInLane(lane, caller) * lane.work.wholeMs(),
      counts.isAtLimit(caller) ? (caller.waiting * pace.meanMs()) / callerConcurrency : 0,
      counts.areAllTaken('service') ? (aheadOfAll(caller) * pace.meanMs()) / maxConcurrentCalls : 0,
    );
  // A batch may have lain unread for as long as a turn takes, and its client has counted that.
  const needsMs = (request: SlotRequest, lane: Lane): number =>
    Math.min(Math.max(lane.pace.usualMs() * RUN_MARGIN, lane.pace.usualMs() + turnMs()), request.timeoutMs);
  const isStuck = (lane: Lane, moment: number): boolean => {
    const sinceLong = (busySince: number): boolean =>
      moment - busySince > Math.max(2 * lane.tool.timeoutMs, LEAST_STUCK_MS);
    const { upstream } = lane;
    return (
      (!hasRoom(lane) && sinceLong(lane.busySince)) ||
      (upstream !== null && isFull(upstream) && sinceLong(upstream.busySince))
    );
  };
  return {
    pace,
    cannotBeInTime: (request, lane, caller, moment) =>
      isStuck(lane, moment) || moment + toWaitMs(lane, caller) * WAIT_MARGIN + needsMs(request, lane) > request.endsAt,
    isTooLate: (request, lane, moment) => moment >= request.endsAt || moment + needsMs(request, lane) > request.endsAt,
    retryAfterMs: (lane) => {
      const ofService = (waiting.size() * pace.meanMs()) / maxConcurrentCalls;
      const ofLane = lane === null ? 0 : (lane.waiting * lane.pace.meanMs()) / widthOf(lane);
      const ofLoop = lane === null ? 0 : lane.waiting * lane.work.wholeMs();
      const ms = Math.ceil(Math.max(ofService, ofLane, ofLoop));
      return ms === 0 ? USUAL_RETRY_MS : Math.min(Math.max(ms, LEAST_RETRY_MS), LONGEST_RETRY_MS);
    },
  };
};
