import type { HeldRecord, KeyedStore } from '../../executor/keyed-store.ts';
import type { StoreAvailability } from '../store-availability.ts';

/**
 * Stands before a store that can fail: while it is away `open` and `find` say `unavailable` and never reject, and a
 * record that a batch holds rejects at once, so that an outage costs one time-out and not one a call.
 */
export const createFallbackKeyedStore = (options: {
  readonly primary: KeyedStore;
  readonly availability: StoreAvailability;
}): KeyedStore => {
  const { primary, availability } = options;
  const whileUp = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
    const attempt = await availability.attemptWhileUp('keyed', ask);
    if (attempt.kind === 'away') throw new Error('The store of idempotency records is away.');
    return attempt.answer;
  };
  const guard = (record: HeldRecord): HeldRecord => ({
    earlier: record.earlier,
    start: (index) => whileUp(() => record.start(index)),
    renew: () => whileUp(record.renew),
    commit: (results) => whileUp(() => record.commit(results)),
    amend: (index, result) => whileUp(() => record.amend(index, result)),
  });
  return {
    durability: primary.durability,
    open: async (batch) => {
      const attempt = await availability.attempt(
        'keyed',
        () => primary.open(batch),
        ({ kind }) => kind === 'held',
      );
      if (attempt.kind === 'away') return { kind: 'unavailable' };
      const { answer } = attempt;
      return answer.kind === 'held' ? { kind: 'held', record: guard(answer.record) } : answer;
    },
    find: async (requestKey) => {
      const attempt = await availability.attemptWhileUp('read', () => primary.find(requestKey));
      return attempt.kind === 'away' ? 'unavailable' : attempt.answer;
    },
  };
};
