import type { Round } from '../../executor/session-store.ts';
import type { Reservation, SessionState, ToolState } from './session-state.ts';

/** Whether it holds a retry that has neither failed nor come back. */
export const isOpen = ({ retry, running, verdict }: Reservation): boolean =>
  retry && running > 0 && verdict !== 'failed';

/** Retries of one tool that are running now. */
export const openRetries = ({ reservations }: ToolState): number => {
  let open = 0;
  for (const reservation of reservations) if (isOpen(reservation)) open += 1;
  return open;
};

/** Retries that one tool holds of its session's: failed or running. */
export const heldRetries = (tool: ToolState): number => tool.used + openRetries(tool);

/** Retries of the session that failed, run, or were lost. Looks at every tool: once a step, not once a tool. */
export const spentRetries = (session: SessionState): number => {
  let spent = session.lost;
  for (const tool of session.tools.values()) spent += heldRetries(tool);
  return spent;
};

/** The reservation that a batch of this round joins. */
export const findJoinable = (tool: ToolState, { roundId }: Round, now: number): Reservation | undefined =>
  roundId === null ? undefined : tool.reservations.find(({ round, joinUntil }) => round === roundId && joinUntil > now);

/** Reserves a tool for the round of this batch. */
export const addReservation = (tool: ToolState, round: Round, retry: boolean, now: number): Reservation => {
  const lease = now + round.leaseMs;
  const reservation: Reservation = {
    ...{ id: round.batchId, round: round.roundId ?? '', retry, epoch: tool.epoch },
    ...{ joinUntil: round.roundId === null ? 0 : lease, lease, running: 1, verdict: 'none' },
  };
  tool.reservations.push(reservation);
  return reservation;
};

/** Drops the reservations of a batch. Changes `session`. */
export const dropReservations = (session: SessionState | null, batchId: string): void => {
  for (const tool of session?.tools.values() ?? [])
    tool.reservations = tool.reservations.filter(({ id }) => id !== batchId);
};

/** Drops reservations whose lease is over. The tool has an unsettled retry back; the session does not. */
export const expireReservations = (session: SessionState, now: number): void => {
  for (const tool of session.tools.values()) {
    if (tool.reservations.length === 0) continue;
    for (const one of tool.reservations) if (one.lease <= now && isOpen(one)) session.lost += 1;
    tool.reservations = tool.reservations.filter(({ lease }) => lease > now);
  }
};

// A reservation costs every later step of its session: 600 of them took Redis 50 ms.
const MAX_ENDED = 16;

/** Drops the reservations that no batch can join any more, and of those without a running batch all but the latest. */
export const dropEnded = (tool: ToolState, now: number): void => {
  const usable = tool.reservations.filter(({ running, joinUntil }) => running > 0 || joinUntil > now);
  let surplus = usable.filter(({ running }) => running === 0).length - MAX_ENDED;
  tool.reservations = usable.filter(({ running }) => {
    if (running > 0 || surplus <= 0) return true;
    surplus -= 1;
    return false;
  });
};

/** Makes the tool clean: its retries go back to the session, and failures that were counted are gone. */
export const refresh = (tool: ToolState): void => {
  tool.failures = 0;
  tool.used = 0;
  for (const reservation of tool.reservations) if (reservation.verdict === 'failed') reservation.verdict = 'over';
};
