import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import type { SpaceObserver, StoreFill } from '../../executor/store-observer.ts';
import { RECORD_TTL_MS } from '../keyed/keyed-record.ts';
import type { RedisClient } from '../redis-client.ts';
import { createRedisScript } from '../redis-script.ts';
import { createSpaceLedger, type SpaceLedger, type StoreSpace } from '../space-ledger.ts';
import { createDropOldest, SPACE_KEYS } from './drop-oldest.ts';

/** How much of a store may be what can be lost. */
export type SpaceSettings = {
  /** Bytes that stand for Redis's own maxmemory where it has none or does not tell it. */
  readonly memoryBytes: number;
  /** Per cent of the memory that journals and kept results may take together. */
  readonly droppablePercent: number;
  /** Per cent of that for one tenant. */
  readonly tenantPercent: number;
  readonly sessionTtlMs: number;
};

export type RedisSpace = StoreSpace & {
  /** Counts and drops once a second, as long as the store serves. */
  readonly start: () => void;
  readonly stop: () => void;
};

const EVERY_MS = 1000;
// Three rounds: a replica that dies keeps the others from dropping no longer.
const LEASE_MS = 3000;
// Until Redis has told how much memory it has: even a small one has as much.
const FIRST_ROOM = 1_048_576;
// How long one round may drop before it looks anew.
const DROP_FOR_MS = 100;
// Where it is asked for a round at once: not one after the other without a pause.
const PAUSE_MS = 20;
// Of Redis's maxmemory: above `high` the oldest is dropped until `low`, and nothing that can be lost is kept beyond
// `refuse`. What is left over is for what must not be lost, and for what other replicas keep within a second.
const LEVELS = { low: 0.7, high: 0.75, refuse: 0.85 } as const;
// The same of the part of what can be lost, of all and of one tenant.
const PART_LEVELS = { low: 0.8, high: 0.9 } as const;

const Accounted = z.tuple([
  z.literal([0, 1]),
  z.int(),
  z.int(),
  z.array(z.int()),
  z.array(z.tuple([z.string(), z.int()])),
]);

type SpaceOptions = {
  readonly client: RedisClient;
  readonly settings: SpaceSettings;
  readonly observer: SpaceObserver;
  readonly onFailed: (error: unknown) => void;
  readonly now: () => number;
};

/**
 * The space of a Redis that all replicas share. Journals and kept results are counted by tenant, here at once and for all
 * replicas once a second, beside the batches; the replica that holds a lease drops the oldest before Redis is full, so
 * that budgets and marks find room. Never rejects: where counting fails it goes on with what it knows.
 */
export const createRedisSpace = (options: SpaceOptions): RedisSpace => {
  const { client, settings, observer, now } = options;
  const rounds = createRounds(async () => {
    // Also where the store does not serve: a full one serves again when something has been dropped.
    if (client.isReady()) await round().then(ignore, options.onFailed);
  });
  const ledger = createSpaceLedger({ terms: toFirstTerms(settings), now, wake: rounds.wake });
  const account = createAccount(options, ledger);
  const { drop, dropExpired } = createDropOldest({
    client,
    lives: toLives(settings),
    serverNow: account.serverNow,
    now,
    onDropped: observer.dropped,
    onUsed: ledger.enter,
  });

  const makeRoom = async (memory: Memory, { total, above, part }: Accounts): Promise<void> => {
    const until = now() + DROP_FOR_MS;
    await dropExpired(until);
    let freed = 0;
    for (const [tenant, bytes] of above) {
      observer.tenantFull(tenant, bytes, part);
      const excess = bytes - part * PART_LEVELS.low;
      await drop(tenant, excess, until);
      freed += excess;
    }
    const excess = toExcess(settings, memory, total) - freed;
    if (excess > 0) await drop(null, excess, until);
  };

  const round = async (): Promise<void> => {
    const memory = await readMemory(client);
    const accounts = await account.tell(memory);
    observer.filled(toFill(settings, memory, accounts.total));
    if (!accounts.isKeeper) return;
    await makeRoom(memory, accounts);
    // What is freed is room at once, and what is left to drop is not left for a second.
    if (accounts.above.length > 0 || toExcess(settings, memory, accounts.total) > 0) rounds.wake();
  };

  return {
    ...rounds,
    reserve: (what, key, bytes) => {
      const answer = ledger.reserve(what, key, bytes);
      if (answer === 'refused') observer.refused(what, key.slice(0, key.lastIndexOf(':')));
      return answer;
    },
  };
};

/** Runs a round each second, and soon where it is woken; never two at once. */
const createRounds = (run: () => Promise<void>) => {
  let timer: NodeJS.Timeout | undefined;
  let state: 'idle' | 'running' | 'woken' = 'idle';
  const finish = (): void => {
    const wasWoken = state === 'woken';
    state = 'idle';
    if (wasWoken) setTimeout(wake, PAUSE_MS).unref();
  };
  const wake = (): void => {
    if (timer === undefined) return;
    if (state !== 'idle') {
      state = 'woken';
      return;
    }
    state = 'running';
    void run().then(finish);
  };
  return {
    wake,
    start: (): void => {
      timer = setInterval(wake, EVERY_MS);
      timer.unref();
    },
    stop: (): void => {
      clearInterval(timer);
      timer = undefined;
    },
  };
};

/** What all replicas have kept, in bytes. */
type Accounts = {
  /** Whether this replica is the one that drops. */
  readonly isKeeper: boolean;
  readonly total: number;
  /** The tenants that have kept nearly all that they may. */
  readonly above: readonly (readonly [tenant: string, bytes: number])[];
  /** What one tenant may keep. */
  readonly part: number;
};

/** Enters what the ledger has, and tells it what the others have. Rejects when Redis does. */
const createAccount = ({ client, settings, now }: SpaceOptions, ledger: SpaceLedger) => {
  const replica = randomUUID();
  const expiry = String(Math.max(...Object.values(toLives(settings))));
  const run = createRedisScript({ call: client.callPatiently }, new URL('./', import.meta.url), ['account.lua']);
  const { totals, order, lease, toLog } = SPACE_KEYS;
  let clockOffset = 0;
  return {
    serverNow: (): number => now() + clockOffset,
    tell: async (memory: Memory): Promise<Accounts> => {
      const { part } = toTerms(settings, memory, 0);
      const taken = ledger.take();
      const keys = [totals, order, lease, ...taken.map(({ tenant }) => toLog(tenant))];
      const limits = [String(LEASE_MS), expiry, String(Math.floor(part * PART_LEVELS.high))];
      const words = taken.flatMap(({ tenant, bytes, words }) => [tenant, String(bytes), words]);
      const answer = await run(keys, [replica, ...limits, ...words]).then(
        (answered) => answered,
        (error: unknown) => {
          ledger.putBack(taken);
          throw error;
        },
      );
      const [holds, serverNow, total, ofTenants, above] = Accounted.parse(answer);
      clockOffset = serverNow - now();
      ledger.learn(taken, ofTenants, toTerms(settings, memory, total));
      return { isKeeper: holds === 1, total, above, part };
    },
  };
};

const toLives = ({ sessionTtlMs }: SpaceSettings) => ({ journal: sessionTtlMs, result: RECORD_TTL_MS });

const ignore = (): void => undefined;

/** Of the fullest server, and how many there are. `max` is 0 where it has no limit or does not tell it. */
type Memory = { readonly used: number; readonly max: number; readonly servers: number };

/** A user of Redis may lack the right to ask: then the settings say how much there is. */
const readMemory = async (client: RedisClient): Promise<Memory> => {
  const answers = await client.memory().then(
    (texts) => texts,
    () => [],
  );
  const servers = answers.map((text) => ({
    used: readNumber(text, 'used_memory'),
    max: readNumber(text, 'maxmemory'),
  }));
  const [fullest = { used: 0, max: 0 }] = servers.toSorted((one, other) => toShare(other) - toShare(one));
  return { ...fullest, servers: Math.max(1, servers.length) };
};

const readNumber = (text: string, name: string): number =>
  Number(new RegExp(`^${name}:(\\d{1,15})\\r?$`, 'm').exec(text)?.[1] ?? 0);

const toShare = ({ used, max }: Pick<Memory, 'used' | 'max'>): number => (max === 0 ? 0 : used / max);

const toDroppableMax = ({ memoryBytes, droppablePercent }: SpaceSettings, { max, servers }: Memory): number =>
  ((max === 0 ? memoryBytes : max * servers) * droppablePercent) / 100;

const toTerms = (settings: SpaceSettings, memory: Memory, total: number) => {
  const most = toDroppableMax(settings, memory);
  const { used, max, servers } = memory;
  const free = max === 0 ? Number.POSITIVE_INFINITY : (max * LEVELS.refuse - used) * servers;
  // Half: other replicas keep something until they hear of it, too.
  return { room: Math.max(0, Math.min(most - total, free)) / 2, part: (most * settings.tenantPercent) / 100 };
};

const toFirstTerms = (settings: SpaceSettings) => {
  const { room, part } = toTerms(settings, { used: 0, max: 0, servers: 1 }, 0);
  return { room: Math.min(room, FIRST_ROOM), part: Math.min(part, FIRST_ROOM) };
};

const toFill = (settings: SpaceSettings, memory: Memory, total: number): StoreFill => ({
  used: memory.used,
  max: memory.max,
  droppable: total,
  droppableMax: toDroppableMax(settings, memory),
});

/** How many bytes are to be dropped now, whosever they are. */
const toExcess = (settings: SpaceSettings, memory: Memory, total: number): number => {
  const { used, max, servers } = memory;
  const most = toDroppableMax(settings, memory);
  const ofServer = max > 0 && used > max * LEVELS.high ? (used - max * LEVELS.low) * servers : 0;
  const ofAll = total > most * PART_LEVELS.high ? total - most * PART_LEVELS.low : 0;
  return Math.max(ofServer, ofAll);
};
