import type { DueEntry } from '@recourse/background/jobs/due-index';
import { AGAIN_MS, createDueSweep, ELSEWHERE_MS, readLive } from '@recourse/background/jobs/due-sweep';
import { isRecord } from 'recourse-server/contract/json-record';
import { parseJson } from 'recourse-server/json/parse-json';
import type { Check, Sought } from './checks.ts';
import type { Effect, EffectSpec } from './effects/effect-kind.ts';
import { type EffectStore, entryOf, type OpenEffect } from './effects/effect-store.ts';
import type { Looker, LookStep } from './looker.ts';

export type SweepOptions = {
  readonly effects: EffectStore;
  readonly looker: Looker;
  readonly findCheck: (tool: string) => Check | null;
  readonly apply: (key: string, effect: Effect) => Promise<void>;
  readonly onFailed: (error: unknown) => void;
  /** Whether any tool's writes can be looked for now. */
  readonly isCovered: () => boolean;
  /** How many writes of each tool are unknown, and for how long the oldest is, in milliseconds. */
  readonly sampled: (counts: ReadonlyMap<string, number>, oldestMs: number) => void;
  /** The store's, in Unix milliseconds. */
  readonly time: () => number;
};

export type EffectSweep = ReturnType<typeof createSweep>;

/** Looks for effects whose time has come, whichever process has left them. Never rejects. */
export const createSweep = (options: SweepOptions) => {
  const { effects, isCovered, onFailed } = options;
  const handle = ({ key }: DueEntry): Promise<LookStep> => lookAt(key, options);
  const { start, close } = createDueSweep({
    ...{ live: effects.live, isCovered, handle, onFailed },
    sample: () => sample(options),
  });
  return {
    start,
    /** Looks at one effect now. Rejects where the store fails. */
    look: (key: string): Promise<LookStep> => lookAt(key, options),
    close,
  };
};

const sample = async ({ effects, sampled, time }: SweepOptions): Promise<void> => {
  const now = time();
  const open = (await readLive(effects.live, (key) => effects.find(key))).filter(
    ({ effect }) => effect.state === 'open',
  );
  const counts = new Map<string, number>();
  for (const { spec } of open) counts.set(spec.tool, (counts.get(spec.tool) ?? 0) + 1);
  sampled(counts, now - Math.min(now, ...open.map(({ effect }) => effect.openedAt)));
};

/** Of an effect whose record is gone, or that is sealed with a key which this process lacks: that is another one's to look for. */
const passOver = async (key: string, effects: EffectStore): Promise<LookStep> => {
  if (await effects.has(key)) await effects.live.enterAgain(entryOf(key), ELSEWHERE_MS);
  else await effects.live.leave(entryOf(key));
  return { kind: 'none', retryAfterMs: null };
};

const lookAt = async (key: string, { effects, looker, findCheck, apply }: SweepOptions): Promise<LookStep> => {
  const found = await effects.find(key);
  if (found === null) return passOver(key, effects);
  const { effect, spec } = found;
  if (effect.state === 'settled') {
    if (!effect.isApplied) await apply(key, effect);
    else await effects.live.leave(entryOf(key));
    return { kind: 'settled', effect };
  }
  const check = findCheck(spec.tool);
  if (check === null) {
    await effects.live.enterAgain(entryOf(key), ELSEWHERE_MS);
    return { kind: 'none', retryAfterMs: ELSEWHERE_MS };
  }
  const ledger = {
    claim: effects.claim.bind(effects, key),
    endLook: effects.endLook.bind(effects, key),
  };
  const step = await looker.lookOnce(ledger, check, check.timeoutMs, (now) => describeSought(found, now));
  if (step.kind === 'settled') await apply(key, step.effect);
  else if (step.kind === 'none') await effects.live.enterAgain(entryOf(key), step.retryAfterMs ?? AGAIN_MS);
  return step;
};

const describeSought = ({ spec }: OpenEffect, { startedAt }: Effect): Sought => ({
  ...spec,
  input: readInput(spec),
  startedAt,
});

const readInput = (spec: EffectSpec): Readonly<Record<string, unknown>> => {
  const parsed = parseJson(spec.arguments);
  return parsed.ok && isRecord(parsed.value) ? parsed.value : {};
};
