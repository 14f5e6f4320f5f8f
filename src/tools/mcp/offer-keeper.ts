import type { Publish, UpstreamState } from '../offers/tool-source.ts';
import type { ToolOffer } from '../tool-offer.ts';
import type { HeldTools } from './change-guard.ts';
import type { ListedTool } from './tool-list.ts';

export type OfferKeeperOptions = {
  readonly publish: Publish;
  readonly build: (tools: readonly ListedTool[], held: HeldTools) => Promise<ToolOffer>;
  readonly guard: (tools: readonly ListedTool[]) => HeldTools;
};

/** What the reason begins with where a server is connected to and cannot list its tools; its cause follows. */
export const UNLISTED_REASON = 'its tools could not be listed';

const NOTHING: ToolOffer = { tools: [], unavailable: [], outdated: new Map() };

/** What is offered now, whether the server is there or not. */
export const createOfferKeeper = ({ publish, build, guard }: OfferKeeperOptions) => {
  const first = Promise.withResolvers<void>();
  let listed: readonly ListedTool[] = [];
  let offer = NOTHING;
  let held: HeldTools = new Map();
  let status: 'connecting' | 'up' | 'down' = 'connecting';
  let reason: string | null = null;
  let isStopped = false;
  const tell = (): void => {
    if (!isStopped) publish(status === 'down' ? { ...offer, unreachable: toUnreachable(offer, reason ?? '') } : offer);
    first.resolve();
  };
  return {
    /** Resolves once something was published. */
    first: first.promise,
    /** `isUp`: asked once it is built. What was listed is offered, marked, where the server is gone by then. */
    take: async (tools: readonly ListedTool[], isUp: () => boolean): Promise<void> => {
      const holding = guard(tools);
      offer = await build(tools, holding);
      listed = tools;
      held = holding;
      if (isUp()) {
        status = 'up';
        reason = null;
      }
      tell();
    },
    /** Whether that is news; a server that was stopped makes none. */
    down: (why: string): boolean => {
      const isNews = !isStopped && (status !== 'down' || toKind(reason ?? '') !== toKind(why));
      status = 'down';
      reason = why;
      if (isNews) tell();
      return isNews;
    },
    /** Publishes what there is, where nothing was yet. */
    tellAtLeastOnce: (): void => {
      if (status === 'connecting') tell();
    },
    stop: (): void => {
      isStopped = true;
      first.resolve();
    },
    has: (name: string): boolean => listed.some((tool) => tool.name === name),
    state: (): Pick<UpstreamState, 'status' | 'reason' | 'tools'> => ({
      status: status === 'up' && held.size > 0 ? 'held' : status,
      reason: status === 'up' && held.size > 0 ? `${held.size} of its tools are held` : reason,
      tools: offer.tools.length,
    }),
  };
};

// In a server's last words a time or an id differs with every try; of a list that fails, the cause has log lines of its own.
const toKind = (reason: string): string => {
  if (reason.startsWith(`${UNLISTED_REASON}: `)) return UNLISTED_REASON;
  const words = reason.indexOf(': ');
  return words === -1 ? reason : reason.slice(0, words) + reason.slice(words).replace(/\d+/g, '0');
};

const toUnreachable = ({ tools }: ToolOffer, reason: string): ReadonlyMap<string, string> =>
  new Map(tools.map(({ name }) => [name, reason]));
