import type { EndedSessions } from '../executor/session-store.ts';
import type { RecordStore } from '../store/record-store.ts';
import { createTextKind } from '../store/text-kind.ts';

const createEndedKind = (ttlMs: number) =>
  createTextKind<{ isEnded: boolean }>({
    name: 'ended',
    operation: 'settle',
    own: /^e$/,
    memory: { records: 'ended_sessions', lists: null },
    ttlMs,
    create: () => ({ isEnded: false }),
    decode: (fields) => ({ isEnded: fields.has('e') }),
    toTexts: ({ isEnded }) => new Map(isEnded ? [['e', '1']] : []),
    isEmpty: ({ isEnded }) => !isEnded,
    bytes: () => 0,
  });

/** Ended sessions as records. While the store is away no session has ended. */
export const createRecordEndedSessions = (options: {
  readonly store: RecordStore;
  readonly ttlMs: number;
}): EndedSessions => {
  const ended = options.store.open(createEndedKind(options.ttlMs));
  const end = (state: { isEnded: boolean }): void => {
    state.isEnded = true;
  };
  return {
    add: (sessionKey) => Promise.resolve(ended.update(sessionKey, end, 'long')).catch(() => undefined),
    has: (sessionKey) => {
      const found = ended.read(sessionKey, ({ isEnded }) => isEnded, ['e']);
      return found instanceof Promise ? found.then(Boolean, () => false) : found === true;
    },
  };
};
