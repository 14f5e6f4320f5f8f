import type { Server } from '../servers.ts';

export type HostCounts = { readonly starting: number; readonly idle: number; readonly busy: number };

/** What the tool hosts of a service are doing, as GET /metrics says. */
export const countHosts = async ({ url }: Server): Promise<HostCounts> => {
  const answer = await fetch(new URL('/metrics', url));
  const text = await answer.text();
  return { starting: countOf('starting', text), idle: countOf('idle', text), busy: countOf('busy', text) };
};

const countOf = (state: keyof HostCounts, text: string): number => {
  const count = new RegExp(`^recourse_tool_processes\\{state="${state}"\\} (\\d+)$`, 'm').exec(text)?.[1];
  if (count === undefined) throw new Error(`GET /metrics does not tell how many tool hosts are ${state}.`);
  return Number(count);
};

const MOST_TRIES = 20;

/** Repeats some load until it makes no new hosts start; throws where that does not come to an end. */
export const warmHostsUp = async (server: Server, load: () => Promise<unknown>): Promise<void> => {
  let before = -1;
  for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
    await load();
    const { starting, idle, busy } = await countHosts(server);
    if (starting === 0 && idle + busy === before) return;
    before = idle + busy;
  }
  throw new Error(`After ${MOST_TRIES} runs of warm-up new tool hosts still start.`);
};
