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
      max_duration_ms: z.number().optional().describe('Only for background tools: from acceptance to the end.'),
    }),
    background: z
      .enum(['optional', 'always'])
      .optional()
      .describe(
        'A call may go on after its request: send `Prefer: respond-async`. `always`: without it the call is refused.',
      ),
    available: z.boolean(),
    /** One line for people, where `available` is false. */
    unavailable_reason: z.string().nullable(),
    unreachable: z
      .literal(true)
      .optional()
      .describe(
        'Its upstream is unreachable now; `available` is false. Models are still offered the tool; a call fails with the reason.',
      ),
    /** Only where a newer version of the tool cannot be loaded, and why; the one before it serves. */
    outdated_reason: z.string().optional(),
    placing: z
      .enum(['shared', 'own', 'alone'])
      .optional()
      .describe(
        'For a tool of a tools directory: its file shares processes with other files, has processes of its own, or gets one process per call.',
      ),
    source: z.string(),
  })
  .meta({ id: 'ToolDescription' });
export type ToolDescription = z.infer<typeof ToolDescription>;

export const ToolCatalogue = z.object({ tools: z.array(ToolDescription) }).meta({ id: 'ToolCatalogue' });

/**
 * Whether models are told of a tool. Also of one that only cannot be reached now: it would be missing for the whole of a
 * run that starts meanwhile, and all others would lose what the provider has cached of their requests.
 */
export const isOffered = ({ available, unreachable }: ToolDescription): boolean => available || unreachable === true;
