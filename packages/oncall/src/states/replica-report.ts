import { FAILURE_CODES } from 'recourse-server/contract/failure';
import * as z from 'zod';

// What one replica writes of itself for the others. Moments are Unix milliseconds by the store's clock. Texts are redacted and cut before
// they are written; who reads it decides what a caller may see.

/** Of each list, so that no replica fills the record. */
export const MOST_LISTED = 200;
export const MAX_MESSAGE = 300;
export const MAX_REASON = 500;

// The latest that a Date holds.
const Moment = z.number().min(0).max(8.64e15);
const Count = z.int().nonnegative();
const Text = z.string().max(1000);
const listOf = <Item extends z.ZodType>(item: Item) => z.array(item).max(MOST_LISTED).readonly();

export const ReplicaReport = z.object({
  replica: Text,
  role: z.enum(['service', 'worker']),
  version: Text,
  started_at: Moment,
  seen_at: Moment,
  loop_lag_ms: z.number().nullable(),
  heap_bytes: Count,
  calls_in_flight: Count,
  calls_queued: Count,
  circuits: listOf(
    z.object({
      name: Text,
      kind: z.enum(['tool', 'upstream']),
      state: z.enum(['open', 'half_open']),
      opened_at: Moment,
      open_until: Moment,
      /** Of `tenant` alone. */
      failure: z
        .object({
          ...{ tenant: Text, tool: Text, code: z.enum(FAILURE_CODES), message: Text, request_id: Text, at: Moment },
        })
        .nullable(),
    }),
  ),
  files: listOf(
    z.object({ file: Text, line: z.int().nullable(), message: Text, older: z.array(Text).readonly().nullable() }),
  ),
  hosts: listOf(
    z.object({
      files: z.array(Text).min(1).readonly(),
      processes: Count,
      memory_bytes: Count.nullable(),
      limit_bytes: Count,
      restarts_by: z.record(z.string(), Count),
      last_restart_at: Moment.nullable(),
      last_words: Text,
      recycled_for: Text,
    }),
  ),
  upstreams: listOf(z.object({ name: Text, status: Text, reason: Text.nullable(), tools: Count })),
  lanes: listOf(z.object({ lane: Text, queued: Count, oldest_ms: z.number(), running: Count, is_served: z.boolean() })),
  store: z.object({
    kind: z.enum(['redis', 'sqlite', 'memory']),
    status: z.enum(['up', 'down']),
    used_bytes: Count.nullable(),
    max_bytes: Count.nullable(),
    policy: Text.nullable(),
  }),
  /** Why the configuration file that is there cannot be used; null: it is in use, or there is none. */
  stale_config: Text.nullable(),
  /** API_KEYS_FILE is invalid, and its previous version in effect. */
  stale_keys: z.boolean().default(false),
  /** The entries of TOOLS_REQUIRED that are not met. */
  missing_tools: listOf(Text),
  /** By how much its clock is ahead of the store's. */
  clock_ahead_ms: z.number(),
});
export type ReplicaReport = Readonly<z.infer<typeof ReplicaReport>>;
