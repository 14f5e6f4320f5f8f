import type { FailureCode } from '../../contract/failure.ts';
import type { CallOutcome } from '../call-outcome.ts';

/** What the end of a call says of what it called. `neither`: nothing, as where the model, a rule or we ended it. */
export type CircuitVerdict = 'success' | 'fault' | 'neither';

// Not `tool_failed` and `output_too_large`: a tool that can say so works.
const FAULTS: ReadonlySet<FailureCode> = new Set([
  'tool_exception',
  'tool_crashed',
  'out_of_memory',
  'timeout',
  'invalid_output',
  'upstream_rate_limited',
  'upstream_unavailable',
]);

/** `limit`: whether the call had the tool's own time, or one that its caller or its batch shortened. */
export const toCircuitVerdict = (end: CallOutcome, limit: 'own' | 'shortened'): CircuitVerdict => {
  if (end.kind === 'success') return 'success';
  const { code, hint } = end.failure;
  // An exception that tells the model what to do differently says whose fault it is: a path that is not there.
  if (code === 'tool_exception' && hint !== null) return 'neither';
  // Else a caller in a hurry would close a slow tool for everybody.
  if (code === 'timeout' && limit === 'shortened') return 'neither';
  return FAULTS.has(code) ? 'fault' : 'neither';
};
