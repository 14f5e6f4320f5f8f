import * as z from 'zod';
import type { JournalLine } from '../executor/journal/round-lines.ts';
import type {
  Admission,
  Budget,
  Round,
  RoundReport,
  SessionSettings,
  SessionStore,
} from '../executor/session-store.ts';
import { toAdmitWords } from './lua/admit-words.ts';
import {
  AdmitAnswer,
  ReadAnswer,
  SettleAnswer,
  toAdmittedTools,
  toBudgets,
  toSessionRecord,
  toVerdict,
} from './lua/session-answers.ts';
import { toSettleWords } from './lua/settle-words.ts';
import type { RedisClient } from './redis-client.ts';
import { createRedisScript, type RunRedisScript } from './redis-script.ts';
import { type AdmittedTool, toPermits } from './rules/admit-budgets.ts';
import { toGuardStep } from './rules/admit-round.ts';
import { toLines, toMaxLines } from './rules/journal-text.ts';
import { digestOf } from './rules/loop-guard.ts';
import { toSettlement } from './rules/settlement.ts';
import { BOUNDLESS_SPACE, type StoreSpace } from './space-ledger.ts';
import type { WatchableStore } from './store-availability.ts';

type Scripts = Readonly<Record<'admit' | 'settle' | 'read' | 'reset' | 'late', RunRedisScript>>;

/**
 * Sessions in Redis, shared by all replicas: a hash and a list each, one atomic script a step. A clean batch waits for
 * one command. Rejects when Redis does; a step whose answer was lost may have been applied and is never sent again.
 */
export const createRedisSessionStore = (options: {
  readonly client: RedisClient;
  readonly settings: SessionSettings;
  /** Where journals find room. */
  readonly space?: StoreSpace;
}): SessionStore & WatchableStore => {
  const { client, settings, space = BOUNDLESS_SPACE } = options;
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
      const answer = await scripts.admit(toKeys(round.sessionKey), toAdmitWords(round, settings));
      const [born, step, reports = [], verdicts = []] = AdmitAnswer.parse(answer);
      const admitted = { born, tools: toAdmittedTools(round, reports, settings), verdicts: verdicts.map(toVerdict) };
      return toAdmission(round, { ...admitted, step }, { scripts, settings, space });
    },
    read: async (sessionKey) => {
      const keys = toKeys(sessionKey);
      const answer = ReadAnswer.parse(await scripts.read(keys, []));
      const [, , , , born] = answer;
      return toSessionRecord(answer, born === '' ? [] : await readJournal(client, keys[1]));
    },
    end: async (sessionKey) => void (await client.call('DEL', ...toKeys(sessionKey))),
    reset: async (sessionKey, tool) =>
      void (await scripts.reset(toKeys(sessionKey), tool === null ? [ttl] : [ttl, tool])),
  };
};

// A thousand lines in one answer took longer than a command is waited for, and one reader made the store look lost.
const LINES_AT_ONCE = 64;
const Lines = z.array(z.string());

/** A journal that is written meanwhile may show a line less: reading is for people. */
const readJournal = async (client: RedisClient, key: string): Promise<readonly string[]> => {
  const lines: string[] = [];
  for (;;) {
    const last = lines.length + LINES_AT_ONCE - 1;
    const page = Lines.parse(await client.call('LRANGE', key, String(lines.length), String(last)));
    lines.push(...page);
    if (page.length < LINES_AT_ONCE) return lines;
  }
};

const CHECK = "redis.call('HSET', KEYS[1], 'at', '1') return redis.call('DEL', KEYS[1])";

type Admitted = Pick<Admission, 'step' | 'verdicts'> & {
  readonly born: string;
  readonly tools: ReadonlyMap<string, AdmittedTool>;
};

type AdmissionParts = {
  readonly scripts: Scripts;
  readonly settings: SessionSettings;
  readonly space: StoreSpace;
};

const toAdmission = (round: Round, admitted: Admitted, parts: AdmissionParts): Admission => {
  const { born, step, tools, verdicts } = admitted;
  const { scripts, settings, space } = parts;
  const keys = toKeys(round.sessionKey);
  const guardStep = toGuardStep(round, step);
  return {
    mode: 'redis',
    scope: 'session',
    step,
    permits: toPermits(tools),
    verdicts,
    settle: async (report: RoundReport): Promise<ReadonlyMap<string, Budget>> => {
      const settlement = toSettlement(round, { tools, verdicts }, report, { settings, read: digestOf });
      if (settlement === null) return new Map();
      const kept = keepLines(round.sessionKey, toLines(settlement.journal, settings), space);
      const words = toSettleWords(round, { born, guardStep, tools }, { ...settlement, ...kept }, settings);
      return toBudgets(SettleAnswer.parse(await scripts.settle(keys, words)), round);
    },
    addLate: async (json) => {
      if (settings.journal === 0 || space.reserve('journal', round.sessionKey, json.length) === 'refused') return;
      await scripts.late(keys, [born, String(settings.ttlMs), String(toMaxLines(settings)), json]);
    },
  };
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
const toKeys = (sessionKey: string): readonly [string, string] => {
  const key = `recourse:{${sessionKey}}`;
  return [key, `${key}:journal`];
};

// Each file may use those before it.
const STATE = ['session-state.lua', 'budget-state.lua', 'loop-guard.lua'];
const SAVE = [...STATE, 'save-session.lua'];
const ADMIT = ['unknown-names.lua', 'count-round.lua', 'call-limits.lua', 'admit-budgets.lua'];

const loadScripts = (client: RedisClient): Scripts => {
  const load = (...files: readonly string[]): RunRedisScript =>
    createRedisScript(client, new URL('lua/', import.meta.url), files);
  return {
    admit: load(...SAVE, ...ADMIT, 'admit.lua'),
    settle: load(...SAVE, 'settle-budgets.lua', 'journal.lua', 'settle.lua'),
    read: load(...STATE, 'read.lua'),
    reset: load(...SAVE, 'reset.lua'),
    late: load('session-state.lua', 'journal.lua', 'late.lua'),
  };
};
