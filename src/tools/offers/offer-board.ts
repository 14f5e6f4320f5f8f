import { findNearestNames } from '../../contract/nearest-names.ts';
import type { Tool } from '../tool.ts';
import type { ToolOffer, UnavailableTool } from '../tool-offer.ts';
import { type Holders, type SettledOffers, settleOffers } from './settle-offers.ts';
import {
  createOverrideLookup,
  createOverriding,
  type EffectiveOverride,
  matchesPattern,
  type ToolOverrides,
} from './tool-override.ts';
import type { Publish } from './tool-source.ts';

export type BoardLog = {
  readonly [level in 'info' | 'warn']: (fields: Readonly<Record<string, unknown>>, message: string) => void;
};

/** In which order sources come, after the service's own tools, and what is said of tools instead of what they say. */
export type BoardRules = { readonly order: readonly string[]; readonly overrides: ToolOverrides };

export type UnmatchedOverride = { readonly pattern: string; readonly nearest: readonly string[] };

/** Where several sources put what they offer, and one offer is made of it. */
export type OfferBoard = {
  /** What a source offers from now on. Never throws. */
  readonly publish: (source: string, offer: ToolOffer) => void;
  /** The source offers nothing any more. */
  readonly withdraw: (source: string) => void;
  readonly setRules: (rules: BoardRules) => void;
  /** From now on a name stays with the source that serves it. Until then the order alone decides, whoever came first. */
  readonly holdNames: () => void;
  /** Overrides that no tool is called like, also none that is unavailable. */
  readonly findUnmatched: () => readonly UnmatchedOverride[];
};

export type OfferBoardOptions = {
  /** The service's own tools and reducers: they come first. */
  readonly own: readonly Tool[];
  /** Of them, those that this machine cannot offer. */
  readonly ownUnavailable?: readonly UnavailableTool[];
  readonly rules: BoardRules;
  /** Takes the one offer, at once and then with every change. */
  readonly offer: Publish;
  readonly log: BoardLog;
};

const OWN = 'builtin';

/** Throws where two of the service's own tools, or two of its reducers, share a name. */
export const createOfferBoard = ({ own, ownUnavailable = [], rules, offer, log }: OfferBoardOptions): OfferBoard => {
  const ownOffer: ToolOffer = { tools: own, unavailable: ownUnavailable, outdated: new Map() };
  offer(ownOffer);
  const offers = new Map<string, ToolOffer>([[OWN, ownOffer]]);
  const override = createOverriding();
  const logRefused = createRefusedLog(log);
  const logEffects = createEffectsLog(log);
  const state = { rules, lookup: createOverrideLookup(rules.overrides), holding: false };
  let holders: Holders = new Map();
  let settled: SettledOffers | null = null;
  const settle = (): void => {
    const { lookup } = state;
    settled = settleOffers(toSorted(offers, state.rules.order), {
      holders: state.holding ? holders : new Map(),
      disabledBy: (name) => lookup(name).disabledBy,
    });
    holders = settled.holders;
    const tools = settled.offer.tools.map((tool) => {
      const { members } = tool.role === 'tool' ? lookup(tool.name) : AS_IT_IS;
      logEffects(tool, members);
      return override(tool, members);
    });
    offer({ ...settled.offer, tools });
    logRefused(settled.refused);
  };
  settle();
  return {
    publish: (source, next) => {
      offers.set(source, next);
      settle();
    },
    withdraw: (source) => {
      if (offers.delete(source)) settle();
    },
    setRules: (next) => {
      state.rules = next;
      state.lookup = createOverrideLookup(next.overrides);
      settle();
    },
    holdNames: () => {
      state.holding = true;
    },
    findUnmatched: () => findUnmatched(state.rules.overrides, settled?.offer),
  };
};

const AS_IT_IS: EffectiveOverride = { members: {}, disabledBy: null };

const toSorted = (offers: ReadonlyMap<string, ToolOffer>, order: readonly string[]) => {
  const ranks = new Map([OWN, ...order].map((source, rank) => [source, rank]));
  const rankOf = (source: string): number => ranks.get(source) ?? ranks.size;
  return [...offers]
    .map(([source, offer]) => ({ source, offer }))
    .sort((one, other) => rankOf(one.source) - rankOf(other.source) || (one.source < other.source ? -1 : 1));
};

const MAX_NEAREST = 3;

const findUnmatched = (overrides: ToolOverrides, offer: ToolOffer | undefined): readonly UnmatchedOverride[] => {
  const facts = [...(offer?.tools ?? []), ...(offer?.unavailable ?? []).map((refused) => refused.facts)];
  const names = facts.filter(({ role }) => role === 'tool').map(({ name }) => name);
  return [...overrides.keys()]
    .filter((pattern) => !names.some((name) => matchesPattern(name, pattern)))
    .map((pattern) => ({ pattern, nearest: findNearestNames(pattern, names, MAX_NEAREST) }));
};

/** Each tool that lost its name is told of once. */
const createRefusedLog = (log: BoardLog): ((refused: readonly UnavailableTool[]) => void) => {
  let told: ReadonlySet<string> = new Set();
  return (refused) => {
    const now = new Map(refused.map((one) => [`${one.facts.role} ${one.facts.name} ${one.reason}`, one]));
    for (const [key, { facts, reason }] of now)
      if (!told.has(key)) log.warn({ [facts.role]: facts.name, source: facts.source, reason }, UNAVAILABLE[facts.role]);
    told = new Set(now.keys());
  };
};

const UNAVAILABLE = { tool: 'tool is unavailable', reducer: 'reducer is unavailable' } as const;

const MOST_TOLD = 10_000;

/** What may be repeated decides what is: who says otherwise than the tool is to be found in the log. */
const createEffectsLog = (log: BoardLog): ((tool: Tool, members: EffectiveOverride['members']) => void) => {
  const told = new Map<string, string>();
  return ({ name, source, effects: declared }, { effects = declared }) => {
    const now = `${source} ${declared} ${effects}`;
    const before = told.get(name);
    if (before === now || (before === undefined && effects === declared)) return;
    if (told.size >= MOST_TOLD) told.clear();
    told.set(name, now);
    log.info({ tool: name, source, declared, effects }, 'effects of a tool are as the configuration file says');
  };
};
