import { findNearestNames } from 'recourse-server/contract/nearest-names';
import { toPortableName } from 'recourse-server/contract/tool-names';
import type { Publish } from 'recourse-server/extensions/source';
import type { Tool } from 'recourse-server/tools/tool';
import type { ToolOffer, UnavailableTool } from 'recourse-server/tools/tool-offer';
import { matchesPattern } from 'recourse-server/tools/tool-override';
import {
  createOverrideLookup,
  createOverriding,
  type EffectiveOverride,
  findUnasked,
  type ToolOverrides,
} from './tool-override.ts';

type CatalogueLog = {
  readonly [level in 'info' | 'warn']: (fields: Readonly<Record<string, unknown>>, message: string) => void;
};

/** In which order sources come, after the service's own tools, and what is said of tools instead of what they say. */
export type CatalogueRules = {
  readonly order: readonly string[];
  readonly overrides: ToolOverrides;
  /** What lanes say which tools wait in them. */
  readonly lanePatterns: readonly string[];
};

type CatalogueOptions = {
  /** The service's own tools and reducers: they come first. */
  readonly own: readonly Tool[];
  /** Of them, those that this machine cannot offer. */
  readonly ownUnavailable?: readonly UnavailableTool[];
  readonly rules: CatalogueRules;
  /** Takes the one offer, at once and then with every change. Throws where two of its tools share a name. */
  readonly offer: Publish;
  readonly log: CatalogueLog;
};

const OWN = 'builtin';

/** A tool under its claim, by which names are the same where a provider could not tell them apart. */
type Claim = { readonly source: string; readonly tool: Tool; readonly key: string };

/**
 * Owns what each source offers, and makes one offer of it. A name that several claim goes to the source that holds it, else
 * to the first in order; the others are unavailable. Names are held from `holdNames` on; until then the order alone decides.
 */
export class Catalogue {
  readonly #offer: Publish;
  readonly #log: CatalogueLog;
  readonly #offers = new Map<string, ToolOffer>();
  readonly #override = createOverriding();
  #rules: CatalogueRules;
  #lookup: (name: string) => EffectiveOverride;
  #locksNames = false;
  /** Claim → who serves it. */
  #serving: ReadonlyMap<string, Claim> = new Map();
  /** What was offered last, before overrides. */
  #settled: ToolOffer;
  #loggedRefusals: ReadonlySet<string> = new Set();
  #loggedUnasked: ReadonlySet<string> = new Set();
  readonly #loggedEffects = new Map<string, string>();

  /** Throws where two of the service's own tools, or two of its reducers, share a name. */
  constructor({ own, ownUnavailable = [], rules, offer, log }: CatalogueOptions) {
    this.#offer = offer;
    this.#log = log;
    this.#rules = rules;
    this.#lookup = createOverrideLookup(rules.overrides);
    this.#settled = { tools: own, unavailable: ownUnavailable, outdated: new Map() };
    offer(this.#settled);
    this.register(OWN, this.#settled);
  }

  /** What a source offers from now on. Never throws. */
  register(source: string, offer: ToolOffer): void {
    this.#offers.set(source, offer);
    this.#settle();
  }

  /** The source offers nothing any more. */
  unregister(source: string): void {
    if (this.#offers.delete(source)) this.#settle();
  }

  setRules(rules: CatalogueRules): void {
    this.#rules = rules;
    this.#lookup = createOverrideLookup(rules.overrides);
    this.#settle();
  }

  /** From now on a name stays with the source that serves it, however early another one comes. */
  lockNames(): void {
    this.#locksNames = true;
  }

  /** Overrides and lanes whose pattern matches no tool, also none that is unavailable, and what overrides would ask. */
  findUnmatched() {
    const { tools, unavailable } = this.#settled;
    const facts = [...tools, ...unavailable.map((refused) => refused.facts)];
    const names = facts.filter(({ role }) => role === 'tool').map(({ name }) => name);
    const patterns = [
      ...[...this.#rules.overrides.keys()].map((pattern) => ({ entry: 'override', pattern }) as const),
      ...[...this.#rules.overrides.values()].flatMap(({ reconcile }) =>
        reconcile === undefined ? [] : [{ entry: 'reconcile', pattern: reconcile.tool } as const],
      ),
      ...this.#rules.lanePatterns.map((pattern) => ({ entry: 'lane', pattern }) as const),
    ];
    return patterns
      .filter(({ pattern }) => !names.some((name) => matchesPattern(name, pattern)))
      .map((one) => ({ ...one, nearest: findNearestNames(one.pattern, names, MAX_NEAREST) }));
  }

  #settle(): void {
    const sources = this.#sortSources();
    const claims = sources.flatMap(([source, { tools }]) =>
      tools.map((tool): Claim => ({ source, tool, key: claimKey(tool) })),
    );
    const [disabled, enabled] = this.#splitDisabled(claims);
    this.#serving = this.#chooseWinners(enabled);
    const refused = enabled.flatMap((claim) => explainRefusal(claim, this.#serving.get(claim.key)));
    this.#settled = {
      tools: [...this.#serving.values()].map(({ tool }) => tool),
      unavailable: [...sources.flatMap(([, { unavailable }]) => unavailable), ...disabled, ...refused],
      outdated: this.#mergeMarks(sources, ({ outdated }) => outdated),
      unreachable: this.#mergeMarks(sources, ({ unreachable }) => unreachable),
    };
    const { tools, misfits } = this.#applyOverrides(this.#settled.tools);
    this.#offer({ ...this.#settled, tools, unavailable: [...this.#settled.unavailable, ...misfits] });
    this.#logRefused([...refused, ...misfits]);
    this.#logUnasked(findUnasked(tools, false));
  }

  #sortSources(): readonly (readonly [source: string, offer: ToolOffer])[] {
    const ranks = new Map([OWN, ...this.#rules.order].map((source, rank) => [source, rank]));
    const rankOf = (source: string): number => ranks.get(source) ?? ranks.size;
    return [...this.#offers].sort(([one], [other]) => rankOf(one) - rankOf(other) || (one < other ? -1 : 1));
  }

  #splitDisabled(claims: readonly Claim[]): readonly [readonly UnavailableTool[], readonly Claim[]] {
    const patternOf = ({ tool }: Claim) => (tool.role === 'tool' ? this.#lookup(tool.name).disabledBy : null);
    const disabled = claims.flatMap((claim): readonly UnavailableTool[] => {
      const pattern = patternOf(claim);
      const reason = `The configuration file disables it: tools['${pattern}'].enabled is false.`;
      return pattern === null ? [] : [{ facts: claim.tool, reason, withheld: 'switched_off' }];
    });
    return [disabled, claims.filter((claim) => patternOf(claim) === null)];
  }

  #chooseWinners(claims: readonly Claim[]): ReadonlyMap<string, Claim> {
    const winners = new Map<string, Claim>();
    for (const claim of claims) {
      const holder = this.#locksNames ? this.#serving.get(claim.key) : undefined;
      const isHolder = claim.source === holder?.source && claim.tool.name === holder.tool.name;
      if (isHolder || !winners.has(claim.key)) winners.set(claim.key, claim);
    }
    return winners;
  }

  /** What sources say of names, as far as those are theirs. */
  #mergeMarks(
    sources: readonly (readonly [source: string, offer: ToolOffer])[],
    pick: (offer: ToolOffer) => ReadonlyMap<string, string> | undefined,
  ): ReadonlyMap<string, string> {
    const owners = new Set([...this.#serving.values()].map(({ source, tool }) => `${source}\n${tool.name}`));
    return new Map(
      sources.flatMap(([source, offer]) =>
        [...(pick(offer) ?? [])].filter(([name]) => owners.has(`${source}\n${name}`)),
      ),
    );
  }

  /** A tool that an override does not fit keeps its name, and is unavailable: without the override it would do something else. */
  #applyOverrides(settled: readonly Tool[]) {
    const tools: Tool[] = [];
    const misfits: UnavailableTool[] = [];
    for (const tool of settled) {
      const override = tool.role === 'tool' ? this.#lookup(tool.name) : NO_OVERRIDE;
      this.#logEffects(tool, override.members);
      const next = this.#override(tool, override);
      if (typeof next === 'string') misfits.push({ facts: tool, reason: `The configuration file is wrong: ${next}` });
      else tools.push(next);
    }
    return { tools, misfits };
  }

  /** Logs each tool that lost its name once. */
  #logRefused(refused: readonly UnavailableTool[]): void {
    const now = new Map(refused.map((one) => [`${one.facts.role} ${one.facts.name} ${one.reason}`, one]));
    for (const [key, { facts, reason }] of now)
      if (!this.#loggedRefusals.has(key))
        this.#log.warn({ [facts.role]: facts.name, source: facts.source, reason }, `${facts.role} is unavailable`);
    this.#loggedRefusals = new Set(now.keys());
  }

  /** Logs once what keeps writes from being looked for. */
  #logUnasked(unasked: ReturnType<typeof findUnasked>): void {
    const fresh = unasked.filter(({ problem, tool }) => !this.#loggedUnasked.has(`${tool} ${problem}`));
    for (const { tool, problem } of fresh) this.#log.warn({ tool, problem }, 'writes of tool cannot be looked for');
    this.#loggedUnasked = new Set(unasked.map(({ problem, tool }) => `${tool} ${problem}`));
  }

  /** Effects decide what may be repeated: an override of them is logged. */
  #logEffects({ name, source, effects: declared }: Tool, { effects = declared }: EffectiveOverride['members']): void {
    const now = `${source} ${declared} ${effects}`;
    const before = this.#loggedEffects.get(name);
    if (before === now || (before === undefined && effects === declared)) return;
    if (this.#loggedEffects.size >= MOST_LOGGED) this.#loggedEffects.clear();
    this.#loggedEffects.set(name, now);
    this.#log.info({ tool: name, source, declared, effects }, 'effects of a tool set by the configuration file');
  }
}

const NO_OVERRIDE: EffectiveOverride = { members: {}, disabledBy: null, effectIdBy: null };
const MAX_NEAREST = 3;
const MOST_LOGGED = 10_000;

// Providers never see a reducer.
const claimKey = ({ role, name }: Tool): string => `${role} ${role === 'tool' ? toPortableName(name) : name}`;

/** Why a claim does not serve; none where it does. */
const explainRefusal = (claim: Claim, winner: Claim | undefined): readonly UnavailableTool[] => {
  if (winner === undefined || claim === winner) return [];
  const { role, name, source } = claim.tool;
  const other = winner.tool;
  const reason =
    name === other.name
      ? `${other.source} already provides a ${role} called '${name}', which is used. Rename the one of ${source}, or give it another prefix.`
      : `Providers cannot distinguish '${name}' of ${source} from '${other.name}' of ${other.source}, which is used. Rename one of them, or give it another prefix.`;
  return [{ facts: claim.tool, reason }];
};
