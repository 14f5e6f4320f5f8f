import type { ToolDescription } from '../contract/tool-description.ts';
import { compareNames } from './compare-names.ts';
import { describeOutdated, describeTool, describeUnavailable, describeUnreachable } from './describe-tool.ts';
import type { Tool } from './tool.ts';
import type { ConcurrencyOf, PlacingOf, ToolOffer } from './tool-offer.ts';

/** The tools that serve, and those that are known of and do not, as the catalogue shows them: by name. */
export const describeOffer = (
  tools: readonly Tool[],
  offer: ToolOffer,
  concurrencyOf: ConcurrencyOf,
  placingOf: PlacingOf,
): readonly ToolDescription[] => {
  const serving = tools.map((tool) => {
    const described = describeServing({ ...tool, concurrency: concurrencyOf(tool) }, offer);
    const placing = placingOf(tool);
    return placing === null ? described : { ...described, placing };
  });
  const refused = offer.unavailable
    .filter(({ facts }) => facts.role === 'tool')
    .map(({ facts, reason }) => describeUnavailable(facts, reason));
  // A stable sort: of one name, what serves stays before what does not.
  return [...serving, ...refused].sort(compareNames);
};

const describeServing = (tool: Tool, { outdated, unreachable }: ToolOffer): ToolDescription => {
  const down = unreachable?.get(tool.name);
  if (down !== undefined) return describeUnreachable(tool, down);
  const reason = outdated.get(tool.name);
  return reason === undefined ? describeTool(tool) : describeOutdated(tool, reason);
};
