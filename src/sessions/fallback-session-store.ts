import {
  type Admission,
  type Permit,
  type Round,
  type SessionStore,
  StoreUnavailableError,
} from '../executor/session-store.ts';
import type { StoreAvailability } from '../store/store-availability.ts';
import type { OutageSessions } from './outage-sessions.ts';
import { NO_TICKET } from './round-ticket.ts';

/** What happens to sessions while the shared store is away: counted in this process, not counted, or calls refused. */
export type StoreDownPolicy = 'local' | 'open' | 'closed';

/**
 * Stands before a store that can fail: while it is away the policy decides, and no batch notices more than that. A
 * round settles in the store that admitted it or nowhere; what was counted here goes to the store when that is back. What was
 * asked for and cannot be done rejects with `StoreUnavailableError`: ending, resetting, and, unless the policy is `local`,
 * reading.
 */
export const createFallbackSessionStore = (options: {
  readonly primary: SessionStore;
  readonly local: SessionStore;
  /** Those that `local` counts. */
  readonly outage: OutageSessions;
  readonly policy: StoreDownPolicy;
  readonly availability: Pick<StoreAvailability, 'awaySince'>;
}): SessionStore => {
  const { primary, local, outage, policy, availability } = options;
  const isUp = (): boolean => availability.awaySince() === null;
  const settle = (sessionKey: string): boolean | Promise<boolean> =>
    outage.has(sessionKey) ? isUp() && outage.settle(sessionKey) : true;
  const admitWhileAway = {
    local: (round: Round, failed: unknown) => outage.admit(round, failed, (sessionKey) => void settle(sessionKey)),
    open: (round: Round) => admitUncounted(round, { decision: 'free', budget: null }),
    closed: (round: Round) => admitUncounted(round, { decision: 'unavailable' }),
  }[policy];
  return {
    admit: async (round) => {
      try {
        if (outage.has(round.sessionKey) && !(await settle(round.sessionKey))) return admitWhileAway(round, null);
        return await primary.admit(round);
      } catch (failed) {
        return admitWhileAway(round, failed);
      }
    },
    forecast: async (round) => {
      const { sessionKey } = round;
      const isHere = outage.has(sessionKey);
      const asked = isHere ? null : await primary.forecast(round).catch(() => null);
      if (asked !== null) return asked;
      return policy === 'local' ? outage.forecast(round) : admitWhileAway(round, null);
    },
    // What was let in while the store was away settles where the session still has the life that its ticket names.
    resume: (late) => primary.resume(late),
    read: async (sessionKey) => {
      const since = availability.awaySince();
      if (since === null && (await settle(sessionKey))) return primary.read(sessionKey).catch(rethrow);
      if (policy !== 'local') throw new StoreUnavailableError('The session store is unavailable.');
      return { ...(await local.read(sessionKey)), ...(since === null ? {} : { since }) };
    },
    end: (sessionKey) => primary.end(sessionKey).catch(rethrow),
    reset: (sessionKey, tool) => primary.reset(sessionKey, tool).catch(rethrow),
  };
};

const rethrow = (cause: unknown): never => {
  throw new StoreUnavailableError('The session store is unavailable.', { cause });
};

const admitUncounted = (round: Round, permit: Permit): Admission => ({
  mode: 'local',
  scope: 'session',
  step: 0,
  permits: new Map(round.tools.map(({ name }) => [name, permit])),
  verdicts: [],
  ticketOf: () => NO_TICKET,
  settle: () => new Map(),
  addLate: async () => undefined,
});
