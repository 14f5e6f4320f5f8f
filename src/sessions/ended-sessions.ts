import type { EndedSessions } from '../executor/session-store.ts';
import type { Kind, RecordStore } from '../store/record-store.ts';
import { NO_LIST, toChanges } from './record-fields.ts';
import type { StoreAvailability } from './store-availability.ts';

type Ended = { isEnded: boolean };

const toTexts = ({ isEnded }: Ended): Map<string, string> => new Map(isEnded ? [['e', '1']] : []);

const createEndedKind = (ttlMs: number): Kind<Ended, Map<string, string>> => ({
  name: 'ended',
  memory: { records: 'ended_sessions', lists: null },
  ttlMs,
  create: () => ({ isEnded: false }),
  decode: (fields) => ({ isEnded: fields.has('e') }),
  toSaved: toTexts,
  changes: (ended, saved) => toChanges(toTexts(ended), saved),
  ...NO_LIST,
  isEmpty: ({ isEnded }) => !isEnded,
  bytes: () => 0,
});

/** Ended sessions as records. Rejects where the store does. */
export const createRecordEndedSessions = (options: {
  readonly store: RecordStore;
  readonly ttlMs: number;
}): EndedSessions => {
  const ended = options.store.open(createEndedKind(options.ttlMs));
  return {
    add: (sessionKey) =>
      ended.update(
        sessionKey,
        (state) => {
          state.isEnded = true;
        },
        'long',
      ),
    has: (sessionKey) => {
      const found = ended.read(sessionKey, ({ isEnded }) => isEnded, ['e']);
      return found instanceof Promise ? found.then((isEnded) => isEnded === true) : found === true;
    },
  };
};

/** Stands before a store that can fail, and never rejects: while it is away no session has ended. */
export const createFallbackEndedSessions = (options: {
  readonly primary: EndedSessions;
  readonly availability: Pick<StoreAvailability, 'attemptWhileUp'>;
}): EndedSessions => {
  const { primary, availability } = options;
  return {
    add: async (sessionKey) => void (await availability.attemptWhileUp('end', () => primary.add(sessionKey))),
    has: async (sessionKey) => {
      // As a reading: one that is late must not take the store away from batches.
      const reply = await availability.attemptWhileUp('read', () => primary.has(sessionKey));
      return reply.kind === 'answered' && reply.answer;
    },
  };
};
