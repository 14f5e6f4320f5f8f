import type { JournalLine, UnpackRound } from '../executor/journal/round-lines.ts';
import type {
  Admission,
  Budget,
  Round,
  RoundReport,
  SessionSettings,
  SessionStore,
} from '../executor/session-store.ts';
import { toAdmitWords } from './lua/admit-words.ts';
import { toCleanWords, toElement } from './lua/clean-words.ts';
import {
  ReadAnswer,
  readAdmitAnswer,
  SettleAnswer,
  toAdmittedTools,
  toBudgets,
  toSessionRecord,
} from './lua/session-answers.ts';
import { toSettleWords } from './lua/settle-words.ts';
import type { RedisClient } from './redis-client.ts';
import { readJournal } from './redis-journal.ts';
import { createRedisScript, type RunRedisScript } from './redis-script.ts';
import { type AdmittedTool, toPermits } from './rules/admit-budgets.ts';
import { toGuardStep } from './rules/admit-round.ts';
import { isAnswered, toCleanBudgets, toCleanPermits, toCleanTools } from './rules/clean-round.ts';
import { toLines, toMaxLines } from './rules/journal-text.ts';
import { toSettlement } from './rules/settlement.ts';
import { BOUNDLESS_SPACE, type StoreSpace } from './space-ledger.ts';
import type { WatchableStore } from './store-availability.ts';

type Scripts = Readonly<Record<'admit' | 'settle' | 'settleClean' | 'read' | 'reset' | 'late', RunRedisScript>>;

/**
 * Sessions in Redis, shared by all replicas: a hash and a list each, one atomic script a step. A clean batch waits for
 * one command. Rejects when Redis does; a step whose answer was lost may have been applied and is never sent again.
 */
export const createRedisSessionStore = (options: {
  readonly client: RedisClient;
  readonly settings: SessionSettings;
  /** Makes lines of what a round's journal was packed into, by this or another process. */
  readonly unpackRound: UnpackRound;
  /** Where journals find room. */
  readonly space?: StoreSpace;
}): SessionStore & WatchableStore => {
  const { client, settings, unpackRound, space = BOUNDLESS_SPACE } = options;
  const scripts = loadScripts(client);
  // Whoever may connect may still lack the right to run scripts or to write, and a replica or a cluster that is down runs a
  // script which touches nothing: only one that has written says that it serves.
  const check = (): Promise<unknown> => client.call('EVAL', CHECK, '1', 'recourse:{ready}');
  const ttl = String(settings.ttlMs);
  return {
    watch: ({ lost, back, refused }) => {
      client.onLost(lost);
      client.onReady(() => void check().then(back, refused));
    },
    check: () => (client.isReady() ? check() : null),
    admit: async (round) => {
      const keys = toKeys(round.sessionKey);
      const answer = readAdmitAnswer(await scripts.admit(keys, toAdmitWords(round, settings)));
      const { born, step, reports, verdicts } = answer;
      const tools = reports === null ? null : toAdmittedTools(round, reports);
      return toAdmission(round, { keys, born, step, tools, verdicts }, { scripts, settings, space });
    },
    read: async (sessionKey) => {
      const keys = toKeys(sessionKey);
      const answer = ReadAnswer.parse(await scripts.read(keys, []));
      const [, , , , born] = answer;
      const lines = born === '' ? [] : await readJournal(client, keys[1], unpackRound);
      return toSessionRecord(answer, lines.slice(-toMaxLines(settings)));
    },
    end: async (sessionKey) => void (await client.call('DEL', ...toKeys(sessionKey))),
    reset: async (sessionKey, tool) =>
      void (await scripts.reset(toKeys(sessionKey), tool === null ? [ttl] : [ttl, tool])),
  };
};

const CHECK = "redis.call('HSET', KEYS[1], 'at', '1') return redis.call('DEL', KEYS[1])";

type Keys = readonly [session: string, journal: string];

/** `tools` is null where the round is clean. */
type Admitted = Pick<Admission, 'step' | 'verdicts'> & {
  readonly keys: Keys;
  readonly born: string;
  readonly tools: ReadonlyMap<string, AdmittedTool> | null;
};

type AdmissionParts = {
  readonly scripts: Scripts;
  readonly settings: SessionSettings;
  readonly space: StoreSpace;
};

type Budgets = ReadonlyMap<string, Budget>;

const toAdmission = (round: Round, admitted: Admitted, parts: AdmissionParts): Admission => {
  const { keys, born, step, tools, verdicts } = admitted;
  const { scripts, settings, space } = parts;
  return {
    mode: 'redis',
    scope: 'session',
    step,
    permits: tools === null ? toCleanPermits(round, settings) : toPermits(tools),
    verdicts,
    settle: (report) => settleCleanly(round, admitted, report, parts) ?? settleAny(round, admitted, report, parts),
    addLate: async (json) => {
      if (settings.journal === 0 || space.reserve('journal', round.sessionKey, json.length) === 'refused') return;
      await scripts.late(keys, [born, String(settings.ttlMs), String(toMaxLines(settings)), json]);
    },
  };
};

const UNCHANGED: Budgets = new Map();

/** Settles a clean round whose calls were all answered; undefined where it is another one, or has lines to write. */
const settleCleanly = (
  round: Round,
  { keys, born, tools }: Admitted,
  report: RoundReport,
  { scripts, settings, space }: AdmissionParts,
): Promise<Budgets> | undefined => {
  if (tools !== null || !isAnswered(report)) return undefined;
  const element = packJournal(round, report, settings, space);
  if (element === null) return undefined;
  const words = toCleanWords(round, report, { born, element }, { settings, maxLines: toMaxLines(settings) });
  const [, , , endings, kept] = words;
  if (endings === '' && kept === '' && !hasChanged(round, report)) return Promise.resolve(UNCHANGED);
  return scripts
    .settleClean(keys, words)
    .then((answer) => (answer === 1 ? toCleanBudgets(round, settings) : toBudgets(SettleAnswer.parse(answer), round)));
};

const hasChanged = ({ tools }: Round, { calls }: RoundReport): boolean =>
  tools.some(({ name, effects }) => effects !== 'read' && calls.some(({ tool }) => tool === name));

/** What the journal is to keep of a round, as clean-settle.lua is told it; null where its lines have to be rendered now. */
const packJournal = (
  { sessionKey, tools }: Round,
  { journal }: RoundReport,
  settings: SessionSettings,
  space: StoreSpace,
): string | null => {
  if (journal === null || settings.journal === 0) return '';
  const packed = journal.lines > settings.journal ? null : journal.pack();
  if (packed === null) return null;
  const element = toElement(journal.lines, packed, tools, settings.sessionRetries);
  return space.reserve('journal', sessionKey, element.length) === 'kept' ? element : '-';
};

const settleAny = async (
  round: Round,
  { keys, born, step, verdicts, ...admitted }: Admitted,
  report: RoundReport,
  { scripts, settings, space }: AdmissionParts,
): Promise<Budgets> => {
  const tools = admitted.tools ?? toCleanTools(round, settings);
  const settlement = toSettlement(round, { tools, verdicts }, report, settings);
  if (settlement === null) return UNCHANGED;
  const kept = keepLines(round.sessionKey, toLines(settlement.journal, settings), space);
  const guardStep = toGuardStep(round, step);
  const words = toSettleWords(round, { born, guardStep, tools }, { ...settlement, ...kept }, settings);
  return toBudgets(SettleAnswer.parse(await scripts.settle(keys, words)), round);
};

/** The lines of a round where there is room for them; else none, and the session says so. */
const keepLines = (
  sessionKey: string,
  lines: readonly JournalLine[],
  space: StoreSpace,
): { readonly journal: readonly JournalLine[]; readonly lines: 'kept' | 'refused' } => {
  if (lines.length === 0) return { journal: lines, lines: 'kept' };
  const bytes = lines.reduce((sum, { json }) => sum + json.length + RETRIES_LEFT_BYTES, 0);
  const kept = space.reserve('journal', sessionKey, bytes);
  return kept === 'kept' ? { journal: lines, lines: kept } : { journal: [], lines: kept };
};

// What the store adds to a line, and Redis to that.
const RETRIES_LEFT_BYTES = 32;

// The whole tenant:hash is the hash tag, so that a session is one cluster slot and a tenant is many.
const toKeys = (sessionKey: string): Keys => {
  const key = `recourse:{${sessionKey}}`;
  return [key, `${key}:journal`];
};

// Each file may use those before it.
const CLEAN = ['digits.lua', 'clean-admit.lua'];
const STATE = ['session-state.lua', 'budget-state.lua', 'loop-guard.lua'];
const SAVE = [...STATE, 'save-session.lua'];
const ADMIT = ['unknown-names.lua', 'count-round.lua', 'call-limits.lua', 'admit-budgets.lua'];
const SETTLE = [...SAVE, 'settle-budgets.lua', 'settle.lua'];

const loadScripts = (client: RedisClient): Scripts => {
  const load = (...files: readonly string[]): RunRedisScript =>
    createRedisScript(client, new URL('lua/', import.meta.url), files);
  return {
    // What is clean is done with before the rest of a script is looked at.
    admit: load(...CLEAN, 'clean-round.lua', ...SAVE, ...ADMIT, 'admit.lua'),
    settleClean: load(...CLEAN, 'journal.lua', 'clean-settle.lua', 'clean-words.lua', ...SETTLE),
    settle: load('digits.lua', 'journal.lua', 'settle-words.lua', ...SETTLE),
    read: load('digits.lua', ...STATE, 'read.lua'),
    reset: load('digits.lua', ...SAVE, 'reset.lua'),
    late: load('digits.lua', 'session-state.lua', 'journal.lua', 'late.lua'),
  };
};
