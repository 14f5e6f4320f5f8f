import type { EndedSessions } from '../executor/session-store.ts';
import type { Kind, RecordStore } from '../store/record-store.ts';
import { NO_LIST, toChanges } from './record-fields.ts';

type Ended = { isEnded: boolean };

const toTexts = ({ isEnded }: Ended): Map<string, string> => new Map(isEnded ? [['e', '1']] : []);

const createEndedKind = (ttlMs: number): Kind<Ended, Map<string, string>> => ({
  name: 'ended',
  operations: { short: 'settle', long: 'settle' },
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

/** Ended sessions as records. While the store is away none has ended. */
export const createRecordEndedSessions = (options: {
  readonly store: RecordStore;
  readonly ttlMs: number;
}): EndedSessions => {
  const ended = options.store.open(createEndedKind(options.ttlMs));
  return {
    add: async (sessionKey) => {
      const end = async (): Promise<void> =>
        ended.update(
          sessionKey,
          (state) => {
            state.isEnded = true;
          },
          'long',
        );
      await end().catch(() => undefined);
    },
    has: (sessionKey) => {
      const found = ended.read(sessionKey, ({ isEnded }) => isEnded, ['e']);
      return found instanceof Promise ? found.then(isTrue, isNever) : found === true;
    },
  };
};

const isTrue = (value: boolean | null): boolean => value === true;
const isNever = (): boolean => false;
