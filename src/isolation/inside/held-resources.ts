import type { InlineTool } from '../../tools/tool.ts';
import type { Channel } from './channel.ts';

/** What tools of this process hold open between their calls, so that the service lets them end it. */
export type HeldResources = {
  /** To be called before a call of the tool runs: the service hears of the first that may hold something. */
  readonly expect: (tool: InlineTool) => void;
  /** Has all tools end what they hold, and tells the service. Never rejects. */
  readonly release: () => Promise<void>;
};

// Kept here, before a tool's code could put its own in its place.
const write = process.stderr.write.bind(process.stderr);

/** `nonce`: what is said of this process as a whole carries it. */
export const createHeldResources = (channel: Channel, nonce: () => string): HeldResources => {
  const holders = new Set<InlineTool>();
  return {
    expect: (tool) => {
      if (tool.close === undefined || holders.has(tool)) return;
      if (holders.size === 0) channel.send({ type: 'resources', nonce: nonce(), state: 'held' });
      holders.add(tool);
    },
    release: async () => {
      const closings = await Promise.allSettled([...holders].map((tool) => tool.close?.()));
      for (const closing of closings)
        if (closing.status === 'rejected') write(`A teardown failed: ${String(closing.reason)}\n`);
      channel.send({ type: 'resources', nonce: nonce(), state: 'released' });
    },
  };
};
