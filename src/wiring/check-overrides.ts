import type { Logger } from 'pino';
import type { OfferBoard } from '../tools/offers/offer-board.ts';
import type { UpstreamState } from '../tools/offers/tool-source.ts';

export type OverrideCheck = {
  /** From now on every tool should be there. */
  readonly begin: () => void;
  /** Looks at what is offered now. */
  readonly look: () => void;
  /** There are other overrides: each may be told of again. */
  readonly forget: () => void;
};

/** Tells once of each override that no tool is called like; not before everything that has tools has been reached. */
export const createOverrideCheck = (
  board: Pick<OfferBoard, 'findUnmatched'>,
  upstreams: () => readonly UpstreamState[],
  log: Logger,
): OverrideCheck => {
  const told = new Set<string>();
  let hasBegun = false;
  const look = (): void => {
    if (!hasBegun || upstreams().some(({ status }) => status === 'connecting' || status === 'down')) return;
    for (const { pattern, nearest } of board.findUnmatched()) {
      if (told.has(pattern)) continue;
      told.add(pattern);
      log.warn({ override: pattern, nearest }, 'no tool is called like this entry of the configuration file');
    }
  };
  return {
    begin: () => {
      hasBegun = true;
      look();
    },
    look,
    forget: () => told.clear(),
  };
};
