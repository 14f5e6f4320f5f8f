import * as z from 'zod';
import type { ExtensionSet } from '../../extensions/extension-set.ts';
import { PACKAGES } from '../../packages.ts';
import { TOOL_PATTERN, ToolOverride } from '../../tools/tool-override.ts';
import { LANE_NAME } from '../settings/lanes.ts';

const ToolPattern = z.string().regex(TOOL_PATTERN, 'must be a tool name, or a pattern with * for any characters');

const LaneName = z
  .string()
  .regex(LANE_NAME, 'must begin with a lower-case letter, then have at most 31 of a to z, 0 to 9, _ and -');

const LaneMembers = z.strictObject({
  tools: z
    .array(ToolPattern)
    .min(1)
    .optional()
    .describe('Names or patterns of the tools whose queued calls wait in this lane'),
  concurrency: z.int().min(1).max(10_000).optional().describe('Calls that one worker runs at once'),
  shards: z.int().min(1).max(64).optional().describe('Queues in Redis, which the nodes of a cluster share'),
});

const Lanes = z.record(LaneName, LaneMembers).superRefine((lanes, context) => {
  const refuse = (lane: string, member: string, message: string): void =>
    context.addIssue({ code: 'custom', path: [lane, member], message });
  for (const [lane, { tools, concurrency, shards = 1 }] of Object.entries(lanes)) {
    if (lane === 'default' && tools !== undefined)
      refuse(lane, 'tools', 'must be left out: all tools that no other lane names are in this one');
    if (lane !== 'default' && tools === undefined) refuse(lane, 'tools', 'must name the tools of this lane');
    if (concurrency !== undefined && shards > concurrency)
      refuse(lane, 'shards', 'must not be larger than concurrency: a worker takes from each at least one call');
  }
});

/** Its members that no extension may name. */
export const OWN_SECTIONS: readonly string[] = ['version', 'tools', 'lanes', 'webhooks'];

/**
 * What the configuration file may say, where there are these extensions. A member that is left out, or left blank, is
 * empty. `sections`: those that name sources, which are in `schema`, too.
 */
export const createConfigSchema = async ({ sources }: ExtensionSet) => {
  const { WEBHOOKS } = await PACKAGES.webhooks();
  const sections = new Map(
    await Promise.all(Object.entries(sources).map(async ([name, load]) => [name, await load()] as const)),
  );
  const before = { version: z.literal(1).optional().describe('Version of this format') };
  const after = {
    tools: z
      .record(ToolPattern, ToolOverride)
      .default({})
      .describe('Tool name or pattern → settings that override the declaration of the tool'),
    lanes: Lanes.default({}).describe('Name of a lane → the tools whose queued calls only some workers run'),
    webhooks: WEBHOOKS,
  };
  const members: typeof before & typeof after = Object.assign({}, before, Object.fromEntries(sections), after);
  return { schema: z.strictObject(members), sections };
};
export type ConfigFile = Readonly<z.infer<Awaited<ReturnType<typeof createConfigSchema>>['schema']>>;
