import type { PageTokenStore } from '../tools/page-tokens.ts';
import { attemptCommand, type StoreAvailability } from './store-availability.ts';

/**
 * Stands before page tokens that can fail, and never rejects. What those answer counts, so that a session which has ended at
 * one replica has ended at all. This process keeps those of its own in `local`, too, and finds them while the others are away.
 */
export const createFallbackPageTokens = (options: {
  readonly primary: PageTokenStore;
  readonly local: PageTokenStore;
  readonly availability: Pick<StoreAvailability, 'attempt' | 'isUp'>;
  /** Called for commands that the store answered with an error of its own. */
  readonly onRefused: (error: unknown) => void;
}): PageTokenStore => {
  const { primary, local, availability, onRefused } = options;
  const ask = async <Answer>(what: 'reads' | 'writes', command: () => Promise<Answer>) => {
    const reply = await attemptCommand(availability, 'page', what, command);
    if (reply.kind === 'refused') onRefused(reply.error);
    return reply;
  };
  return {
    find: async (list, page) => {
      const reply = await ask('reads', () => primary.find(list, page));
      if (reply.kind === 'answered' && reply.answer !== null) return reply.answer;
      // A server that answers reads alone does not know what it was not let keep.
      return reply.kind === 'away' || !availability.isUp() ? local.find(list, page) : null;
    },
    keep: async (list, page, token) => {
      await local.keep(list, page, token);
      await ask('writes', () => primary.keep(list, page, token));
    },
    forget: async (session) => {
      await local.forget(session);
      await ask('writes', () => primary.forget(session));
    },
  };
};
