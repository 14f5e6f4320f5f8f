import type { components } from '../../../../clients/typescript/src/generated/api.ts';
import { depthOf, indentJson, isRecord, parseJson } from './json.ts';
import { type Kept, takeOne, takeReading } from './kept-list.ts';

export type ApprovalRecord = components['schemas']['ApprovalRecord'];
export type ApprovalList = { readonly approvals: readonly ApprovalRecord[]; readonly total: number };
export type Decision = NonNullable<ApprovalRecord['decision']>;

/** A call that a person has to approve, or had to when it was listed. */
export type Asked = Kept<ApprovalRecord>;

/** By id. */
export type Approvals = Map<string, Asked>;

/** Takes a reading of the list; of arguments that are too long for a list what was read before stays. */
export const takeApprovals = (approvals: Approvals, { approvals: listed, total }: ApprovalList): void => {
  const whole = listed.map((call) => ({
    ...call,
    arguments: call.arguments ?? approvals.get(call.id)?.call.arguments ?? null,
  }));
  takeReading(approvals, whole, total, ({ id, requested_at: since, state }) => ({
    id,
    since,
    isOpen: state === 'waiting',
  }));
};

/** Takes a reading of one approval. */
export const takeApproval = (approvals: Approvals, call: ApprovalRecord): void => takeOne(approvals, call.id, call);

/** Whether it can be decided. */
export const isWaiting = ({ call, isListed }: Asked): boolean => isListed && call.state === 'waiting';

/** How an approval stands, in a few words. */
export const explainApproval = ({ call, isListed }: Asked): string => {
  const { state, decision, decided_by: by, decided_at: at } = call;
  if (state === 'waiting') return isListed ? 'waits' : 'does not wait any more';
  const who = at === null ? '' : ` by ${by ?? 'somebody without a key'}`;
  const approved = `approved${decision === 'edit' ? ' with other arguments' : ''}${who}`;
  const words = {
    granted: `${approved}: it may run once`,
    used: `${approved}, and was run`,
    denied: `denied${who}`,
    expired: 'expired: it was not decided, or not called again, in time',
    cancelled: 'withdrawn',
    stale: 'stale: the tool or a right has changed since',
  };
  return words[state];
};

const MAX_DEPTH = 64;

/** Arguments as JSON to be read. The service takes none that are nested deeper. */
export const toArgumentsText = (value: unknown): string =>
  depthOf(value, MAX_DEPTH + 1) > MAX_DEPTH ? '' : indentJson(JSON.stringify(value));

const MAX_REASON = 500;

type Typed = Readonly<Record<string, string>>;

/** What is wrong with a decision as it was typed; empty where nothing is. */
export const findMistake = ({ arguments: text = '{}', reason = '' }: Typed): string => {
  const parsed = parseJson(text);
  if ('why' in parsed) return `The arguments are not JSON: ${parsed.why}`;
  if (!isRecord(parsed.value)) return 'The arguments must be a JSON object.';
  return reason.trim().length > MAX_REASON ? `A reason has at most ${MAX_REASON} characters.` : '';
};

/** A decision on a call as it was read, to be sent. Arguments go as they were typed: no digit changes. */
export const buildDecision = (
  { digest }: Pick<ApprovalRecord, 'digest'>,
  decision: Decision,
  { arguments: text = '', reason = '' }: Typed,
): { readonly headers: Readonly<Record<string, string>>; readonly body: string } => {
  const body = JSON.stringify({ decision, ...(reason.trim() !== '' && { reason: reason.trim() }) });
  return {
    headers: { 'content-type': 'application/json', 'if-match': `"${digest}"` },
    body: decision === 'edit' ? `${body.slice(0, -1)},"arguments":${text}}` : body,
  };
};

/** What the service says of arguments that it does not take; null where it says something else. */
export const findRefusedEdit = ({ code, detail }: { readonly code: string; readonly detail: string }): string | null =>
  code === 'invalid_arguments' ? detail : null;

/** The approval that stands so many places further on a list that has its ends; null where there is none. */
export const stepFrom = (approvals: Approvals, id: string | null, step: number): string | null => {
  const ids = [...approvals.keys()];
  const at = id === null ? -1 : ids.indexOf(id);
  const next = at === -1 ? (step > 0 ? 0 : ids.length - 1) : Math.min(ids.length - 1, Math.max(0, at + step));
  return ids[next] ?? null;
};
