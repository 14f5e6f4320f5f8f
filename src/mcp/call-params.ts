import * as z from 'zod';
import { ToolCallsRequest } from '../contract/tool-call.ts';

const { session_id, round_id } = ToolCallsRequest.shape;

/**
 * The `params` of `tools/call` as far as they are the door's: what `POST /tool-calls` takes in its envelope and headers
 * stands in `_meta`, under keys of our own. The arguments are the executor's to judge; the SDK lets objects through
 * alone, so others go past it: see `putArgumentsAside`.
 */
export const CallParams = z.looseObject({
  name: z.string(),
  arguments: z.unknown().optional(),
  _meta: z
    .looseObject({
      progressToken: z.union([z.string(), z.number()]).optional(),
      'recourse/session_id': session_id,
      'recourse/round_id': round_id,
      'recourse/idempotency_key': z
        .string()
        .regex(/^[\x20-\x7e]{1,255}$/, 'must be 1 to 255 printable ASCII characters')
        .nullish(),
    })
    .optional(),
});
export type CallParams = z.infer<typeof CallParams>;
