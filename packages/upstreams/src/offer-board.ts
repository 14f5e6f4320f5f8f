import { findNearestNames } from 'recourse-server/contract/nearest-names';
import { toPortableName } from 'recourse-server/contract/tool-names';
import type { Publish, UpstreamState } from 'recourse-server/extensions/source';
import type { Tool, ToolFacts } from 'recourse-server/tools/tool';
import type { ToolOffer, UnavailableTool } from 'recourse-server/tools/tool-offer';
import { matchesPattern } from 'recourse-server/tools/tool-override';
import { createOverrideLookup, createOverriding, type EffectiveOverride, type ToolOverrides } from './tool-override.ts';

type BoardLog = {
  readonly [level in 'info' | 'warn']: (fields: Readonly<Record<string, unknown>>, message: string) => void;
};

/** In which order sources come, after the service's own tools, and what is said of tools instead of what they say. */
export type BoardRules = {
  readonly order: readonly string[];
  readonly overrides: ToolOverrides;
  /** What lanes say which tools wait in them. */
  readonly lanePatterns: readonly string[];
};

type UnmatchedPattern = {
  /** Where it stands in the file. */
  readonly entry: 'override' | 'lane';
  readonly pattern: string;
  readonly nearest: readonly string[];
};

/** Where several sources put what they offer, and one offer is made of it. */
type OfferBoard = {
  /** What a source offers from now on. Never throws. */
  readonly publish: (source: string, offer: ToolOffer) => void;
  /** The source offers nothing any more. */
  readonly withdraw: (source: string) => void;
  readonly setRules: (rules: BoardRules) => void;
  /** From now on a name stays with the source that serves it. Until then the order alone decides, however late one came. */
  readonly holdNames: () => void;
  /** Overrides and lanes whose pattern matches no tool, also none that is unavailable. */
  readonly findUnmatched: () => readonly UnmatchedPattern[];
};

type OfferBoardOptions = {
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
  const state = { rules, lookup: createOverrideLookup(rules.overrides), holdsNames: false };
  let holders: Holders = new Map();
  let settled: SettledOffers | null = null;
  const settle = (): void => {
    const { lookup } = state;
    const disabledBy = (name: string): string | null => lookup(name).disabledBy;
    settled = settleOffers(toSorted(offers, state.rules.order), state.holdsNames ? holders : new Map(), disabledBy);
    holders = settled.holders;
    const tools = settled.offer.tools.map((tool) => {
      const members = tool.role === 'tool' ? lookup(tool.name).members : {};
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
      state.holdsNames = true;
    },
    findUnmatched: () => findUnmatched(state.rules, settled?.offer),
  };
};

/** What one source offers. */
type SourceOffer = { readonly source: string; readonly offer: ToolOffer };
/** What a name is taken under → who serves it. */
type Holders = ReadonlyMap<string, { readonly source: string; readonly name: string }>;
type Claim = { readonly source: string; readonly tool: Tool };

type SettledOffers = {
  /** Fit for a registry: no name is in it twice. */
  readonly offer: ToolOffer;
  /** Those unavailable ones that another source's tool keeps from serving. */
  readonly refused: readonly UnavailableTool[];
  readonly holders: Holders;
};

const toSorted = (offers: ReadonlyMap<string, ToolOffer>, order: readonly string[]): readonly SourceOffer[] => {
  const ranks = new Map([OWN, ...order].map((source, rank) => [source, rank]));
  const rankOf = (source: string): number => ranks.get(source) ?? ranks.size;
  return [...offers]
    .map(([source, offer]) => ({ source, offer }))
    .sort((one, other) => rankOf(one.source) - rankOf(other.source) || (one.source < other.source ? -1 : 1));
};

/**
 * One offer out of many, which come in their order. A name that several claim goes to the one that holds it, otherwise to
 * the first; the others are unavailable. Names are the same where a provider could not tell them apart.
 */
const settleOffers = (
  offers: readonly SourceOffer[],
  holders: Holders,
  disabledBy: (name: string) => string | null,
): SettledOffers => {
  const declared = offers.flatMap(({ source, offer }) => offer.tools.map((tool): Claim => ({ source, tool })));
  const disabledOf = ({ tool }: Claim): string | null => (tool.role === 'tool' ? disabledBy(tool.name) : null);
  const disabled = declared.flatMap((claim) => toDisabled(claim.tool, disabledOf(claim)));
  const enabled = declared.filter((claim) => disabledOf(claim) === null);
  const contests = [...Map.groupBy(enabled, ({ tool }) => toClaimKey(tool))].flatMap(([key, claims]) => {
    const holder = holders.get(key);
    const winner = claims.find(({ source, tool }) => source === holder?.source && tool.name === holder.name);
    const [first] = claims;
    return first === undefined ? [] : [{ claims, winner: winner ?? first }];
  });
  const serving = contests.map(({ winner }) => winner);
  const refused = contests.flatMap(({ claims, winner }) =>
    claims
      .filter((claim) => claim !== winner)
      .map(({ tool }) => ({ facts: tool, reason: toReason(tool, winner.tool) })),
  );
  /** What sources say of names, as far as those are theirs. */
  const merge = (pick: (offer: ToolOffer) => ReadonlyMap<string, string> | undefined): ReadonlyMap<string, string> =>
    new Map(
      offers.flatMap(({ source, offer }) => {
        const marks = [...(pick(offer) ?? [])];
        if (marks.length === 0) return [];
        const names = new Set(serving.filter((claim) => claim.source === source).map(({ tool }) => tool.name));
        return marks.filter(([name]) => names.has(name));
      }),
    );
  return {
    offer: {
      tools: serving.map(({ tool }) => tool),
      unavailable: [...offers.flatMap(({ offer }) => offer.unavailable), ...disabled, ...refused],
      outdated: merge(({ outdated }) => outdated),
      unreachable: merge(({ unreachable }) => unreachable),
    },
    refused,
    holders: new Map(serving.map(({ source, tool }) => [toClaimKey(tool), { source, name: tool.name }])),
  };
};

// Providers never see a reducer.
const toClaimKey = ({ role, name }: Pick<ToolFacts, 'role' | 'name'>): string =>
  `${role} ${role === 'tool' ? toPortableName(name) : name}`;

const toDisabled = (facts: Tool, pattern: string | null): readonly UnavailableTool[] => {
  if (pattern === null) return [];
  const reason = `The configuration file disables it: tools['${pattern}'].enabled is false.`;
  return [{ facts, reason, withheld: 'switched_off' }];
};

const toReason = ({ role, name, source }: Tool, other: Tool): string =>
  name === other.name
    ? `${other.source} already provides a ${role} called '${name}', which is used. Rename the one of ${source}, or give it another prefix.`
    : `Providers cannot distinguish '${name}' of ${source} from '${other.name}' of ${other.source}, which is used. Rename one of them, or give it another prefix.`;

const MAX_NEAREST = 3;

const findUnmatched = (
  { overrides, lanePatterns }: BoardRules,
  offer: ToolOffer | undefined,
): readonly UnmatchedPattern[] => {
  const facts = [...(offer?.tools ?? []), ...(offer?.unavailable ?? []).map((refused) => refused.facts)];
  const names = facts.filter(({ role }) => role === 'tool').map(({ name }) => name);
  const toUnmatched = (entry: UnmatchedPattern['entry'], patterns: Iterable<string>): readonly UnmatchedPattern[] =>
    [...patterns]
      .filter((pattern) => !names.some((name) => matchesPattern(name, pattern)))
      .map((pattern) => ({ entry, pattern, nearest: findNearestNames(pattern, names, MAX_NEAREST) }));
  return [...toUnmatched('override', overrides.keys()), ...toUnmatched('lane', lanePatterns)];
};

/** Logs each tool that lost its name once. */
const createRefusedLog = (log: BoardLog): ((refused: readonly UnavailableTool[]) => void) => {
  let logged: ReadonlySet<string> = new Set();
  return (refused) => {
    const now = new Map(refused.map((one) => [`${one.facts.role} ${one.facts.name} ${one.reason}`, one]));
    for (const [key, { facts, reason }] of now)
      if (!logged.has(key))
        log.warn({ [facts.role]: facts.name, source: facts.source, reason }, UNAVAILABLE[facts.role]);
    logged = new Set(now.keys());
  };
};

const UNAVAILABLE = { tool: 'tool is unavailable', reducer: 'reducer is unavailable' } as const;

const MOST_LOGGED = 10_000;

/** Effects decide what may be repeated: an override of them is logged. */
const createEffectsLog = (log: BoardLog): ((tool: Tool, members: EffectiveOverride['members']) => void) => {
  const logged = new Map<string, string>();
  return ({ name, source, effects: declared }, { effects = declared }) => {
    const now = `${source} ${declared} ${effects}`;
    const before = logged.get(name);
    if (before === now || (before === undefined && effects === declared)) return;
    if (logged.size >= MOST_LOGGED) logged.clear();
    logged.set(name, now);
    log.info({ tool: name, source, declared, effects }, 'effects of a tool set by the configuration file');
  };
};

// As long as the start waits for what is to be reached.
const PATIENCE_MS = 10_000;

/**
 * Logs once each override whose pattern matches no tool: when everything that has tools has been reached, and for want
 * of that after a while, naming what has not.
 */
export const createOverrideCheck = (
  board: Pick<OfferBoard, 'findUnmatched'>,
  upstreams: () => readonly UpstreamState[],
  log: Pick<BoardLog, 'warn'>,
  patienceMs = PATIENCE_MS,
) => {
  const logged = new Set<string>();
  const loggedForNow = new Set<string>();
  let hasBegun = false;
  let isPatient = true;
  let isStopped = false;
  const warn = ({ entry, pattern, nearest }: UnmatchedPattern, notReached: readonly string[]): void => {
    const isFinal = notReached.length === 0;
    const key = `${entry} ${pattern}`;
    if (logged.has(key) || (!isFinal && loggedForNow.has(key))) return;
    if (isFinal) log.warn({ [entry]: pattern, nearest }, NONE);
    else log.warn({ [entry]: pattern, nearest, notReached }, NONE_YET);
    (isFinal ? logged : loggedForNow).add(key);
  };
  const look = (): void => {
    if (!hasBegun || isStopped) return;
    const notReached = upstreams().filter(({ status }) => status === 'connecting' || status === 'down');
    if (notReached.length > 0 && isPatient) return;
    const names = notReached.map(({ name }) => name);
    for (const unmatched of board.findUnmatched()) warn(unmatched, names);
  };
  const wait = (): NodeJS.Timeout => {
    isPatient = true;
    return setTimeout(() => {
      isPatient = false;
      look();
    }, patienceMs).unref();
  };
  let waiting = wait();
  return {
    /** From now on every tool should be there. */
    begin: (): void => {
      hasBegun = true;
      look();
    },
    /** Looks at what is offered now. */
    look,
    /** There are other overrides: each may be logged again. */
    forget: (): void => {
      logged.clear();
      loggedForNow.clear();
      clearTimeout(waiting);
      waiting = wait();
    },
    /** Nothing is logged any more. */
    stop: (): void => {
      isStopped = true;
      clearTimeout(waiting);
    },
  };
};

const NONE = 'entry of the configuration file matches no tool';
const NONE_YET = 'entry of the configuration file matches no tool so far (some upstreams are not connected)';
