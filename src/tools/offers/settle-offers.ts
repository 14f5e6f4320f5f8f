import { toPortableName } from '../../contract/portable-name.ts';
import type { Tool, ToolFacts } from '../tool.ts';
import type { ToolOffer, UnavailableTool } from '../tool-offer.ts';

/** What one source offers. */
export type SourceOffer = { readonly source: string; readonly offer: ToolOffer };

/** What a name is taken under → who serves it. */
export type Holders = ReadonlyMap<string, Holder>;
export type Holder = { readonly source: string; readonly name: string };

export type SettleRules = {
  readonly holders: Holders;
  /** The entry of the configuration file that switches the tool off; null = it is on. */
  readonly disabledBy: (name: string) => string | null;
};

export type SettledOffers = {
  /** Fit for a registry: no name is in it twice. */
  readonly offer: ToolOffer;
  /** Those unavailable ones that another source's tool keeps from serving. */
  readonly refused: readonly UnavailableTool[];
  readonly holders: Holders;
};

type Claim = { readonly source: string; readonly tool: Tool };

/**
 * One offer out of many, which come in their order. A name that several claim goes to the one that holds it, otherwise to
 * the first; the others are unavailable. Names are the same where a provider could not tell them apart.
 */
export const settleOffers = (offers: readonly SourceOffer[], { holders, disabledBy }: SettleRules): SettledOffers => {
  const declared = offers.flatMap(({ source, offer }) => offer.tools.map((tool): Claim => ({ source, tool })));
  const disabledOf = ({ tool }: Claim): string | null => (tool.role === 'tool' ? disabledBy(tool.name) : null);
  const disabled = declared.flatMap((claim) => toDisabled(claim.tool, disabledOf(claim)));
  const contests = Map.groupBy(
    declared.filter((claim) => disabledOf(claim) === null),
    ({ tool }) => toClaimKey(tool),
  );
  const winners = new Map([...contests].map(([key, claims]) => [key, findWinner(claims, holders.get(key))]));
  const refused = [...contests].flatMap(([key, claims]) => toRefused(claims, winners.get(key)));
  const serving = [...winners.values()].flatMap((claim) => claim ?? []);
  const servingOf = (source: string): ReadonlySet<string> =>
    new Set(serving.filter((claim) => claim.source === source).map(({ tool }) => tool.name));
  return {
    offer: {
      tools: serving.map(({ tool }) => tool),
      unavailable: [...offers.flatMap(({ offer }) => offer.unavailable), ...disabled, ...refused],
      outdated: merge(offers, servingOf, ({ outdated }) => outdated),
      unreachable: merge(offers, servingOf, ({ unreachable }) => unreachable ?? new Map()),
    },
    refused,
    holders: new Map(serving.map(({ source, tool }) => [toClaimKey(tool), { source, name: tool.name }])),
  };
};

// No provider ever sees a reducer.
const toClaimKey = ({ role, name }: Pick<ToolFacts, 'role' | 'name'>): string =>
  `${role} ${role === 'tool' ? toPortableName(name) : name}`;

const findWinner = (claims: readonly Claim[], holder: Holder | undefined): Claim | undefined =>
  claims.find(({ source, tool }) => source === holder?.source && tool.name === holder.name) ?? claims[0];

const toDisabled = (tool: Tool, pattern: string | null): readonly UnavailableTool[] =>
  pattern === null
    ? []
    : [
        {
          facts: tool,
          reason: `The configuration file switches it off: tools['${pattern}'].enabled is false.`,
          withheld: 'switched_off',
        },
      ];

const toRefused = (claims: readonly Claim[], winner: Claim | undefined): readonly UnavailableTool[] =>
  claims
    .filter((claim) => claim !== winner)
    .map(({ tool }) => ({ facts: tool, reason: winner === undefined ? '' : toReason(tool, winner.tool) }));

const toReason = ({ role, name, source }: Tool, other: Tool): string =>
  name === other.name
    ? `${other.source} offers a ${role} called '${name}' already, and that one serves. Rename the one of ${source}, or give it another prefix.`
    : `To providers '${name}' of ${source} is the same name as '${other.name}' of ${other.source}, and that one serves. Rename one of them, or give it another prefix.`;

/** What sources say of names, as far as those are theirs. */
const merge = (
  offers: readonly SourceOffer[],
  servingOf: (source: string) => ReadonlySet<string>,
  pick: (offer: ToolOffer) => ReadonlyMap<string, string>,
): ReadonlyMap<string, string> =>
  new Map(
    offers.flatMap(({ source, offer }) => {
      const said = [...pick(offer)];
      const names = said.length === 0 ? new Set() : servingOf(source);
      return said.filter(([name]) => names.has(name));
    }),
  );
