import { type CallOutcome, failed } from '../executor/call-outcome.ts';
import { toFailure } from '../executor/failure.ts';
import { withoutFrames } from '../executor/failure-text.ts';
import { isDeeperThan } from '../json/json-text.ts';
import { parseJson } from '../json/parse-json.ts';
import type { HostedTool } from '../tools/tool.ts';
import type { HostEnd, ThrownPart } from './host-messages.ts';

// As in to-json-value: common parsers would refuse the whole batch for a value nested deeper.
const MAX_DEPTH = 500;

/** What a host says came of a call, as the executor knows ends; null where the value it sends is no JSON. */
export const readAnswer = (end: HostEnd, body: string, tool: HostedTool): CallOutcome | null => {
  // Proved again: the host did it too, but its memory is the tool's, and one bad text would spoil the whole batch.
  if (body !== 'null' && (!parseJson(body).ok || isDeeperThan(body, MAX_DEPTH))) return null;
  if (end.kind === 'success') {
    const { message, marks, warnings } = end;
    return { kind: 'success', executed: 'yes', valueJson: body, message, marks, warnings };
  }
  const { kind: _kind, code, message, thrown, ...details } = end;
  return failed(toFailure(code, withoutFrames(message), tool, { ...details, thrown: toThrown(thrown) }), body);
};

/** The cause chain as it was in the host: objects that have what is read of errors. */
export const toThrown = (parts: readonly ThrownPart[]): unknown =>
  parts.reduceRight<unknown>((cause, part) => ({ ...part, cause }), undefined);
