import * as z from 'zod';
import { EFFECTS } from './failure.ts';

/** A JSON Schema (draft 2020-12) as it goes over the wire. */
export const JsonSchema = z.record(z.string(), z.unknown());
export type JsonSchema = Readonly<Record<string, unknown>>;

/** One tool as GET /tools shows it. */
export const ToolDescription = z
  .object({
    name: z.string(),
    description: z.string(),
    effects: z.enum(EFFECTS),
    input_schema: JsonSchema,
    output_schema: JsonSchema.nullable(),
    limits: z.object({
      timeout_ms: z.number(),
      retries: z.number(),
      concurrency: z.number().nullable(),
      max_calls_per_session: z.number().nullable(),
    }),
    available: z.boolean(),
    /** One line for people, where `available` is false. */
    unavailable_reason: z.string().nullable(),
    unreachable: z
      .literal(true)
      .optional()
      .describe(
        'What it talks to cannot be reached now; `available` is false. A call says so, and models are told of it all the same.',
      ),
    /** Only where a newer version of the tool cannot be loaded, and why; the one before it serves. */
    outdated_reason: z.string().optional(),
    placing: z
      .enum(['shared', 'own', 'alone'])
      .optional()
      .describe(
        'Of a tool of a tools directory: its file shares processes with others in turn, has its own, or each of its calls has one to itself.',
      ),
    source: z.string(),
  })
  .meta({ id: 'ToolDescription' });
export type ToolDescription = z.infer<typeof ToolDescription>;

export const ToolCatalogue = z.object({ tools: z.array(ToolDescription) }).meta({ id: 'ToolCatalogue' });
