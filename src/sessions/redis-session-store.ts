import type { UnpackRound } from '../executor/journal/round-lines.ts';
import type {
  Admission,
  Budget,
  Round,
  RoundReport,
  SessionSettings,
  SessionStore,
} from '../executor/session-store.ts';
import type { MayKeep } from '../executor/store-observer.ts';
import { readRedisJournal, toLines, toMaxLines } from './journal-lines.ts';
import { readTicket, toLateRound, toLateTools, toTicket } from './late-rounds.ts';
import { createRedisScript, type RedisClient, type RunRedisScript } from './redis-client.ts';
import { isAnswered, toCleanBudgets, toCleanPermits, toCleanTools } from './rules/clean-round.ts';
import { toPermits } from './rules/retry-budgets.ts';
import { toGuardStep, toSettlement } from './rules/rounds.ts';
import {
  type AdmittedAnswer,
  readAdmitAnswer,
  readReadAnswer,
  readSettleAnswer,
  toAdmitWords,
  toCleanWords,
  toElement,
  toSettleWords,
} from './session-words.ts';
import type { WatchableStore } from './store-availability.ts';

/**
 * Sessions in Redis, shared by all replicas: a hash and a list each, one atomic script a step. A clean batch waits for
 * one command. Rejects when Redis does; a step whose answer was lost may have been applied and is never sent again.
 */
export const createRedisSessionStore = (options: {
  readonly client: RedisClient;
  readonly settings: SessionSettings;
  /** Makes lines of what a round's journal was packed into, by this or another process. */
  readonly unpackRound: UnpackRound;
  readonly mayKeep?: MayKeep;
}): SessionStore & WatchableStore => {
  const { client, settings, unpackRound, mayKeep = () => true } = options;
  const scripts = loadScripts(client);
  // Whoever may connect may still lack the right to run scripts or to write, and a replica or a cluster that is down runs a
  // script which touches nothing: only one that has written says that it serves. No batch waits for it, and a process that
  // starts is busy: it is given longer than a batch gives, or each slow start would begin with a second without Redis.
  const check = (): Promise<unknown> => client.callPatiently('EVAL', CHECK, '1', 'recourse:{ready}');
  const ttl = String(settings.ttlMs);
  return {
    watch: ({ lost, back, refused }) => {
      client.onLost(lost);
      client.onReady(() => void check().then(back, refused));
    },
    check: () => (client.isReady() ? check() : null),
    admit: async (round) => {
      const keys = toKeys(round.sessionKey);
      const answer = readAdmitAnswer(await scripts.admit(keys, toAdmitWords(round, settings)), round);
      return toAdmission({ round, keys, answer, scripts, settings, mayKeep });
    },
    resume: (late) => {
      const round = toLateRound(late);
      const ticket = readTicket(late.ticket);
      const tools = toLateTools(round, ticket, settings);
      const answer = { born: ticket.born, step: ticket.step, tools, verdicts: [] };
      return toAdmission({ round, keys: toKeys(late.sessionKey), answer, scripts, settings, mayKeep });
    },
    read: async (sessionKey) => {
      const keys = toKeys(sessionKey);
      const { born, record } = readReadAnswer(await scripts.read(keys, []));
      const lines = born === '' ? [] : await readRedisJournal(client, keys[1], unpackRound);
      return { ...record, journal: lines.slice(-toMaxLines(settings)) };
    },
    end: async (sessionKey) => void (await client.call('DEL', ...toKeys(sessionKey))),
    reset: async (sessionKey, tool) =>
      void (await scripts.reset(toKeys(sessionKey), tool === null ? [ttl] : [ttl, tool])),
  };
};

const CHECK = "redis.call('HSET', KEYS[1], 'at', '1') return redis.call('DEL', KEYS[1])";

type Keys = readonly [session: string, journal: string];

// The whole tenant:hash is the hash tag, so that a session is one cluster slot and a tenant is many.
const toKeys = (sessionKey: string): Keys => {
  const key = `recourse:{${sessionKey}}`;
  return [key, `${key}:journal`];
};

/** A round that was admitted, and what it settles with. */
type AdmittedRound = {
  readonly round: Round;
  readonly keys: Keys;
  readonly answer: AdmittedAnswer;
  readonly scripts: Scripts;
  readonly settings: SessionSettings;
  readonly mayKeep: MayKeep;
};

const toAdmission = (admitted: AdmittedRound): Admission => {
  const { round, keys, answer, scripts, settings, mayKeep } = admitted;
  return {
    mode: 'redis',
    scope: 'session',
    step: answer.step,
    permits: answer.tools === null ? toCleanPermits(round, settings) : toPermits(answer.tools),
    verdicts: answer.verdicts,
    ticketOf: (tool) => toTicket(answer, answer.tools?.get(tool)),
    settle: (report) => settleCleanly(admitted, report) ?? settleAny(admitted, report),
    addLate: async (json) => {
      if (settings.journal === 0 || !mayKeep('journals')) return;
      await scripts.late(keys, [answer.born, String(settings.ttlMs), String(toMaxLines(settings)), json]);
    },
  };
};

type Budgets = ReadonlyMap<string, Budget>;

const UNCHANGED: Budgets = new Map();

/** Settles a clean round whose calls were all answered; undefined where it is another one, or has lines to write. */
const settleCleanly = (admitted: AdmittedRound, report: RoundReport): Promise<Budgets> | undefined => {
  const { round, keys, answer, scripts, settings } = admitted;
  if (answer.tools !== null || !isAnswered(report)) return undefined;
  const element = packJournal(admitted, report);
  if (element === null) return undefined;
  const words = toCleanWords(round, report, { born: answer.born, element }, settings);
  if (words === null) return Promise.resolve(UNCHANGED);
  return scripts
    .settle(keys, words)
    .then((settled) => (settled === 1 ? toCleanBudgets(round, settings) : readSettleAnswer(settled, round)));
};

/** What the journal is to keep of a round, as clean-settle.lua is told it; null where its lines have to be rendered now. */
const packJournal = ({ round, settings, mayKeep }: AdmittedRound, { journal }: RoundReport): string | null => {
  if (journal === null || settings.journal === 0) return '';
  const packed = journal.lines > settings.journal ? null : journal.pack();
  if (packed === null) return null;
  const element = toElement(journal.lines, packed, round.tools, settings.sessionRetries);
  return mayKeep('journals') ? element : '-';
};

const settleAny = async (admitted: AdmittedRound, report: RoundReport): Promise<Budgets> => {
  const { round, keys, answer, scripts, settings, mayKeep } = admitted;
  const { born, step, verdicts } = answer;
  const tools = answer.tools ?? toCleanTools(round, settings);
  const settlement = toSettlement(round, { tools, verdicts }, report, settings);
  if (settlement === null) return UNCHANGED;
  const journal = toLines(settlement.journal, settings);
  const hasRoom = journal.length === 0 || mayKeep('journals');
  const guardStep = toGuardStep(round, step);
  // Where there is no room for the lines there are none, and the session says so.
  const written = hasRoom
    ? { ...settlement, journal, lines: 'kept' as const }
    : { ...settlement, journal: [], lines: 'refused' as const };
  const words = toSettleWords(round, { born, guardStep, tools }, written, settings);
  return readSettleAnswer(await scripts.settle(keys, words), round);
};

type Scripts = Readonly<Record<'admit' | 'settle' | 'read' | 'reset' | 'late', RunRedisScript>>;

// Each file may use those before it.
const STATE = ['session-state.lua', 'retry-budgets.lua', 'loop-guard.lua'];
const SAVE = [...STATE, 'save-session.lua'];

const loadScripts = (client: RedisClient): Scripts => {
  const load = (...files: readonly string[]): RunRedisScript =>
    createRedisScript(client, new URL('lua/', import.meta.url), ['fields.lua', ...files]);
  return {
    // What is clean is done with before the rest of a script is looked at.
    admit: load('clean-admit.lua', ...SAVE, 'call-limits.lua', 'admit.lua'),
    settle: load('journal.lua', 'clean-settle.lua', ...SAVE, 'settle.lua'),
    read: load(...STATE, 'read.lua'),
    reset: load(...SAVE, 'reset.lua'),
    late: load('journal.lua', 'late.lua'),
  };
};
