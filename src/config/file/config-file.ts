import * as z from 'zod';
import { TOOL_PATTERN, ToolOverride } from '../../tools/tool-override.ts';
import { LANE_NAME } from '../settings/lanes.ts';

/** The sections of the configuration file that are the service's own; those of extensions name sources of tools. */
export const OWN_SECTIONS = ['version', 'tools', 'lanes', 'webhooks', 'rules', 'approvals'] as const;

export const VERSION = z.literal(1).optional().describe('Version of this format');

const ToolPattern = z.string().regex(TOOL_PATTERN, 'must be a tool name, or a pattern with * for any characters');

export const TOOLS = z
  .record(ToolPattern, ToolOverride)
  .default({})
  .describe('Tool name or pattern → settings that override the declaration of the tool');

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

export const LANES = z
  .record(LaneName, LaneMembers)
  .superRefine((lanes, context) => {
    const refuse = (lane: string, member: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [lane, member], message });
    for (const [lane, { tools, concurrency, shards = 1 }] of Object.entries(lanes)) {
      if (lane === 'default' && tools !== undefined)
        refuse(lane, 'tools', 'must be left out: all tools that no other lane names are in this one');
      if (lane !== 'default' && tools === undefined) refuse(lane, 'tools', 'must name the tools of this lane');
      if (concurrency !== undefined && shards > concurrency)
        refuse(lane, 'shards', 'must not be larger than concurrency: a worker takes from each at least one call');
    }
  })
  .default({})
  .describe('Name of a lane → the tools whose queued calls only some workers run');
