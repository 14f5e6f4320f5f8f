import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import type { Droppable, SpaceObserver, StoreFill } from '../../executor/store-observer.ts';
import { RECORD_TTL_MS } from '../keyed/keyed-results.ts';
import { createRedisScript, type RedisClient, type RunRedisScript } from '../redis-client.ts';
import { createSpaceLedger, type Entry, readWords, type SpaceLedger, type StoreSpace } from '../space-ledger.ts';

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

type RedisSpace = StoreSpace & {
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

// Where what is kept is written down: one cluster slot.
const TOTALS = 'recourse:{kept}';
const ORDER = `${TOTALS}:order`;
const LEASE = `${TOTALS}:lease`;
const toLog = (tenant: string): string => `${TOTALS}:log:${tenant}`;

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
  const ledger = createSpaceLedger({ limits: toFirstLimits(settings), now, wake: rounds.wake });
  const account = createAccount(options, ledger);
  const { drop, dropExpired } = createDropOldest(options, ledger, account.serverNow);

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

const ignore = (): void => undefined;

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

const loadScript = (client: RedisClient, ...files: readonly string[]): RunRedisScript =>
  createRedisScript({ call: client.callPatiently }, new URL('../lua/', import.meta.url), files);

/** How long a session and a record live after they were used, in milliseconds. */
const toLives = ({ sessionTtlMs }: SpaceSettings) => ({ journal: sessionTtlMs, result: RECORD_TTL_MS });

const toLongestLife = (settings: SpaceSettings): number => Math.max(...Object.values(toLives(settings)));

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

// As account.lua answers.
const Accounted = z.tuple([
  z.literal([0, 1]),
  z.int(),
  z.int(),
  z.array(z.int()),
  z.array(z.tuple([z.string(), z.int()])),
]);

/** Enters what the ledger has, and tells it what the others have. Rejects when Redis does. */
const createAccount = ({ client, settings, now }: SpaceOptions, ledger: SpaceLedger) => {
  const replica = randomUUID();
  const run = loadScript(client, 'fields.lua', 'account.lua');
  let clockOffset = 0;
  return {
    /** The server's clock. */
    serverNow: (): number => now() + clockOffset,
    tell: async (memory: Memory): Promise<Accounts> => {
      const { part } = toLimits(settings, memory, 0);
      const taken = ledger.take();
      const keys = [TOTALS, ORDER, LEASE, ...taken.map(({ tenant }) => toLog(tenant))];
      const limits = [LEASE_MS, toLongestLife(settings), Math.floor(part * PART_LEVELS.high)].map(String);
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
      ledger.learn(taken, ofTenants, toLimits(settings, memory, total));
      return { isKeeper: holds === 1, total, above, part };
    },
  };
};

// A script keeps all others waiting, who have 50 ms: of records with large results it takes few.
const AT_ONCE = { journal: 64, result: 8 } as const satisfies Record<Droppable, number>;
// What was written while its chunk was on its way is older than the chunk, also by Redis's own clock.
const SLACK_MS = 100;

// What the names in a log lead to. Of results, that of a pending call is named by the call's handle, and the others by a
// digest.
const KINDS = ['journal', 'record', 'call'] as const;
type Kind = (typeof KINDS)[number];

const kindOf = ({ what, key }: Entry): Kind => {
  if (what === 'journal') return 'journal';
  return /:c_[\w-]+$/.test(key) ? 'call' : 'record';
};

const TO_KEYS = {
  journal: (key: string) => [`recourse:{${key}}`, `recourse:{${key}}:journal`],
  record: (key: string) => [`recourse:{${key}}:keyed`],
  call: (key: string) => [`recourse:{${key}}:call`],
} as const satisfies Record<Kind, (key: string) => readonly string[]>;

const Chunk = z.string().nullable();
const Flags = z.array(z.int());

const createDropEntries = ({ client, observer }: SpaceOptions, ledger: SpaceLedger) => {
  const scripts = {
    journal: loadScript(client, 'fields.lua', 'session-state.lua', 'loop-guard.lua', 'drop-journals.lua'),
    record: loadScript(client, 'fields.lua', 'drop-results.lua'),
    call: loadScript(client, 'drop-call-results.lua'),
  } as const satisfies Record<Kind, RunRedisScript>;
  const dropKind = async (kind: Kind, entries: readonly Entry[], longest: number): Promise<void> => {
    const what = kind === 'journal' ? 'journal' : 'result';
    // Of several keys in one command a cluster wants one slot.
    const size = client.topology === 'cluster' ? 1 : AT_ONCE[what];
    for (let start = 0; start < entries.length; start += size) {
      const some = entries.slice(start, start + size);
      const keys = some.flatMap(({ key }) => TO_KEYS[kind](key));
      const flags = Flags.parse(await scripts[kind](keys, [String(Math.max(0, longest))]));
      const used = some.filter((_, position) => flags[position] !== 1);
      observer.dropped(what, some.length - used.length);
      // Has been used since it was entered: it is entered anew.
      used.forEach(ledger.enter);
    }
  };
  return async (entries: readonly Entry[], longest: number): Promise<void> => {
    for (const kind of KINDS)
      await dropKind(
        kind,
        entries.filter((entry) => kindOf(entry) === kind),
        longest,
      );
  };
};

/** Drops what is oldest, a chunk of a log at a time: first what it names, then the chunk. Rejects when Redis does. */
const createDropOldest = (options: SpaceOptions, ledger: SpaceLedger, serverNow: () => number) => {
  const { client, settings, now } = options;
  const lives = toLives(settings);
  const remove = loadScript(client, 'remove.lua');
  const dropEntries = createDropEntries(options, ledger);
  const first = async (key: string): Promise<string | null> =>
    Chunk.parse(await client.callPatiently('LINDEX', key, '0'));

  const dropNamed = async (tenant: string, { at, words }: ReturnType<typeof readChunk>): Promise<void> => {
    const entries = readWords(tenant, words);
    const age = serverNow() - at - SLACK_MS;
    for (const what of ['journal', 'result'] as const) {
      const named = entries.filter((entry) => entry.what === what);
      await dropEntries(named, Math.round(lives[what] - age));
    }
  };

  /** The bytes that the oldest chunk of a tenant stood for; null where there is none, or it is newer than its place. */
  const dropChunk = async (tenant: string, place: string | null): Promise<number | null> => {
    const text = await first(toLog(tenant));
    const chunk = readChunk(text);
    const isDue = text !== null && (place === null || chunk.at <= readPlace(place).at);
    if (isDue) await dropNamed(tenant, chunk);
    await remove([TOTALS, ORDER, toLog(tenant)], [tenant, isDue ? text : '', String(chunk.bytes), place ?? '']);
    return isDue ? chunk.bytes : null;
  };

  const dropOf = async (tenant: string, bytes: number, until: number): Promise<void> => {
    for (let freed = 0; freed < bytes && now() < until; ) {
      const dropped = await dropChunk(tenant, null);
      if (dropped === null) return;
      freed += dropped;
    }
  };

  const dropOfAll = async (bytes: number, until: number): Promise<void> => {
    for (let freed = 0; freed < bytes && now() < until; ) {
      const place = await first(ORDER);
      if (place === null) return;
      freed += (await dropChunk(readPlace(place).tenant, place)) ?? 0;
    }
  };

  return {
    /** Drops the oldest of a tenant, or of all (null), until about `bytes` are free, `until` is reached or nothing is left. */
    drop: (tenant: string | null, bytes: number, until: number): Promise<void> =>
      tenant === null ? dropOfAll(bytes, until) : dropOf(tenant, bytes, until),
    /** Takes out of the logs what has expired by itself. */
    dropExpired: async (until: number): Promise<void> => {
      while (now() < until) {
        const place = await first(ORDER);
        if (place === null || readPlace(place).at > serverNow() - toLongestLife(settings)) return;
        await dropChunk(readPlace(place).tenant, place);
      }
    },
  };
};

const readPlace = (place: string): { readonly at: number; readonly tenant: string } => {
  const [at = '', tenant = ''] = place.split(' ');
  return { at: Number(at), tenant };
};

const readChunk = (chunk: string | null): { readonly at: number; readonly bytes: number; readonly words: string } => {
  const [, at = '0', bytes = '0', words = ''] = /^(\d{1,15}) (\d{1,15}) (.*)$/s.exec(chunk ?? '') ?? [];
  return { at: Number(at), bytes: Number(bytes), words };
};

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
  const toShare = ({ used, max }: (typeof servers)[number]): number => (max === 0 ? 0 : used / max);
  const [fullest = { used: 0, max: 0 }] = servers.toSorted((one, other) => toShare(other) - toShare(one));
  return { ...fullest, servers: Math.max(1, servers.length) };
};

const readNumber = (text: string, name: string): number =>
  Number(new RegExp(`^${name}:(\\d{1,15})\\r?$`, 'm').exec(text)?.[1] ?? 0);

const toDroppableMax = ({ memoryBytes, droppablePercent }: SpaceSettings, { max, servers }: Memory): number =>
  ((max === 0 ? memoryBytes : max * servers) * droppablePercent) / 100;

const toLimits = (settings: SpaceSettings, memory: Memory, total: number) => {
  const most = toDroppableMax(settings, memory);
  const { used, max, servers } = memory;
  const free = max === 0 ? Number.POSITIVE_INFINITY : (max * LEVELS.refuse - used) * servers;
  // Half: other replicas keep something until they hear of it, too.
  return { room: Math.max(0, Math.min(most - total, free)) / 2, part: (most * settings.tenantPercent) / 100 };
};

const toFirstLimits = (settings: SpaceSettings) => {
  const { room, part } = toLimits(settings, { used: 0, max: 0, servers: 1 }, 0);
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
