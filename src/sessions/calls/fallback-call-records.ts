import type { StoreAvailability } from '../store-availability.ts';
import type { CallRecords } from './call-records.ts';

/**
 * Stands before records that can fail: while the store is away each step rejects at once, so that an outage costs one
 * time-out and not one a call. What a request waits for takes the store away when it fails. What runs beside requests does
 * not: it is late on a busy machine, and tried again. A claim and a sweep ask whether the store is back. To renew and to
 * commit is tried in any state: the result of a call would be lost, and its lease lapse, of a store that has long been back.
 */
export const createFallbackCallRecords = (options: {
  readonly primary: CallRecords;
  readonly availability: Pick<StoreAvailability, 'isReachable' | 'attempt' | 'attemptWhileUp' | 'attemptAlways'>;
}): CallRecords => {
  const { primary, availability } = options;
  const { isReachable, attempt, attemptWhileUp, attemptAlways } = availability;
  const beside = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> => {
    if (!isReachable()) throw createAway();
    return ask();
  };
  const whileUp = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> =>
    toAnswer(await attemptWhileUp('pending', ask));
  const always = async <Answer>(ask: () => Promise<Answer>): Promise<Answer> =>
    isReachable() ? ask() : toAnswer(await attemptAlways('pending', ask));
  const probing = async <Answer>(
    ask: () => Promise<Answer>,
    hasWritten: (answer: Answer) => boolean,
  ): Promise<Answer> => (isReachable() ? ask() : toAnswer(await attempt('pending', ask, hasWritten)));
  return {
    durability: primary.durability,
    holdsArguments: primary.holdsArguments,
    leaseMs: primary.leaseMs,
    create: async (key, spec) =>
      toAnswer(
        await attempt(
          'pending',
          () => primary.create(key, spec),
          ({ kind }) => kind === 'created' || kind === 'same',
        ),
      ),
    confirm: (key) => whileUp(() => primary.confirm(key)),
    // Also while the store is away: what makes it away is often what has to be taken back.
    withdraw: (key) => primary.withdraw(key),
    cancel: (key, how) => whileUp(() => primary.cancel(key, how)),
    findSame: (sessionKey, fingerprint) => whileUp(() => primary.findSame(sessionKey, fingerprint)),
    claim: (key) =>
      probing(
        () => primary.claim(key),
        ({ kind }) => kind === 'held',
      ),
    due: (most) =>
      probing(
        () => primary.due(most),
        ({ length }) => length > 0,
      ),
    find: (key) => beside(() => primary.find(key)),
    describe: (key) => beside(() => primary.describe(key)),
    async *list() {
      if (!isReachable()) throw createAway();
      yield* primary.list();
    },
    versions: (keys) => beside(() => primary.versions(keys)),
    ofSession: (sessionKey) => beside(() => primary.ofSession(sessionKey)),
    begin: (lease) => beside(() => primary.begin(lease)),
    renew: (lease, progress) => always(() => primary.renew(lease, progress)),
    release: (lease, lackedAt) => beside(() => primary.release(lease, lackedAt)),
    commit: (lease, result, how) => always(() => primary.commit(lease, result, how)),
    watch: (listener) => primary.watch(listener),
    publishPart: (lease, valueJson) => {
      if (isReachable()) primary.publishPart(lease, valueJson);
    },
    watchParts: (key, listener) => primary.watchParts(key, listener),
  };
};

const createAway = (): Error => new Error('The store of pending calls is unavailable.');

const toAnswer = <Answer>(
  attempted: { readonly kind: 'answered'; readonly answer: Answer } | { readonly kind: 'away' },
): Answer => {
  if (attempted.kind === 'away') throw createAway();
  return attempted.answer;
};
