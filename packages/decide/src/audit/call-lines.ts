import { hash } from 'node:crypto';
import type { AuditedCall } from 'recourse-server/executor/audit';
import { hideSensitive } from 'recourse-server/executor/journal';
import type { PendingState } from 'recourse-server/executor/pending-calls';
import type { Decided } from 'recourse-server/executor/policies';
import type { Redactor } from 'recourse-server/executor/redactor';
import { toCanonicalText } from 'recourse-server/json/canonical-text';
import type { Tool } from 'recourse-server/tools/tool';
import { AUDIT_VERSION, MAX_AUDIT_ARGUMENTS, MAX_AUDIT_ID } from './audit-event.ts';
import { readEnd } from './read-end.ts';

type Batch = AuditedCall['batch'];

/**
 * Makes the line of a call, without its end of line. Put together by hand, of few pieces, and without what does not apply: every
 * call pays for it. What calls of one batch and one tool have in common is made once.
 */
export const createCallLine = ({
  shown,
  redactor,
  digestOf,
}: {
  readonly shown: 'digest' | 'redacted';
  readonly redactor: Pick<Redactor, 'cut'>;
  /** What a tool is: `sha256:` and 64 hex digits. */
  readonly digestOf: (tool: Tool) => string;
}) => {
  const cut: Cut = (text, limit) => JSON.stringify(redactor.cut(text, limit, 'log'));
  const headOf = createHeads(cut, digestOf);
  const describeArguments = shown === 'digest' ? digestArguments : (call: AuditedCall) => showRedacted(call, cut);
  return (call: AuditedCall, time: string): string => {
    const { id, durationMs, batch } = call;
    const index = batch.request.resumed?.spec.index ?? call.index;
    const shownId = typeof id === 'string' ? cut(id, MAX_AUDIT_ID) : String(id);
    return (
      `${headOf(call, time)}${index},"call_id":${shownId}${describeArguments(call)}${describeEnd(call)}` +
      `${renderHundredths(durationMs)}${describeMore(call)}`
    );
  };
};

const HUNDREDTHS = Array.from({ length: 100 }, (_, part) => `.${String(part).padStart(2, '0')}`);

// Whole numbers become text in half the time that others take.
const renderHundredths = (ms: number): string => {
  const hundredths = Math.round(ms * 100);
  return `${Math.floor(hundredths / 100)}${HUNDREDTHS[hundredths % 100]}`;
};

type Cut = (text: string, limit: number) => string;
type DigestOf = (tool: Tool) => string;

/** When, who, and which tool: all up to the index. Calls of one batch follow each other, mostly of one tool. */
const createHeads = (cut: Cut, digestOf: DigestOf) => {
  let last: { readonly batch: Batch; readonly tool: string; readonly time: string; readonly head: string } | null =
    null;
  const describeTool = createToolParts(digestOf);
  return (call: AuditedCall, time: string): string => {
    const { batch } = call;
    const tool = describeTool(call);
    if (last === null || last.batch !== batch || last.tool !== tool || last.time !== time)
      last = {
        batch,
        tool,
        time,
        head: `{"audit":${AUDIT_VERSION},"time":"${time}",${describeSender(batch, cut)}${tool},"index":`,
      };
    return last.head;
  };
};

const describeSender = ({ request }: Batch, cut: Cut): string => {
  const { tenant, key, callerId = null, sessionKey, requestId } = request;
  return (
    `"kind":"call","tenant":${JSON.stringify(tenant)},"key":${JSON.stringify(key)}` +
    `${callerId === null ? '' : `,"caller":${JSON.stringify(callerId)}`},"session":${JSON.stringify(sessionKey)}` +
    `,"request_id":${cut(requestId, MAX_AUDIT_ID)}`
  );
};

const describeMissing = (name: string | null): string =>
  `,"tool":${JSON.stringify(name)},"tool_digest":null,"effects":null`;

/** What was called. A tool is described once, an object for each of its versions. */
const createToolParts = (digestOf: DigestOf) => {
  const parts = new WeakMap<Tool, string>();
  return ({ tool, missingTool }: AuditedCall): string => {
    if (tool === null) return describeMissing(missingTool);
    let part = parts.get(tool);
    if (part === undefined) {
      part = `,"tool":${JSON.stringify(tool.name)},"tool_digest":"${digestOf(tool)}","effects":"${tool.effects}"`;
      parts.set(tool, part);
    }
    return part;
  };
};

const NO_ARGUMENTS = ',"arguments_digest":null';

const digestArguments = ({ input }: AuditedCall): string =>
  input === null ? NO_ARGUMENTS : `,"arguments_digest":"sha256:${hash('sha256', toCanonicalText(input))}"`;

const showRedacted = ({ input, tool }: AuditedCall, cut: Cut): string => {
  if (input === null || tool === null) return NO_ARGUMENTS;
  return `${NO_ARGUMENTS},"arguments":${cut(toCanonicalText(hideSensitive(input, tool)), MAX_AUDIT_ARGUMENTS)}`;
};

/** What only some calls have. */
const describeMore = (call: AuditedCall): string => {
  const { handle, effectId, state } = call;
  const isPlain = handle === null && effectId === null && state.kind === 'success' && call.ruling === null;
  return isPlain ? '}' : `${renderMore(call)}}`;
};

const renderMore = (call: AuditedCall): string => {
  const { handle, effectId, state, storedResult } = call;
  const { rules, approval } = findDecided(call);
  return (
    (handle === null ? '' : `,"pending":"${handle}"`) +
    (effectId === null ? '' : `,"effect_id":"${effectId}"`) +
    (rules.length === 0 ? '' : `,"rules":${JSON.stringify(rules.map(({ name, decision }) => ({ name, decision })))}`) +
    (approval === null
      ? ''
      : `,"approval":${JSON.stringify({ id: approval.id, digest: approval.digest, by: approval.by })}`) +
    (state.kind === 'copied' || storedResult !== null ? ',"replayed":true' : '')
  );
};

/** What rules and people have said: of a call that runs, waits, or was kept from running. */
const findDecided = ({ ruling, outcome, batch }: AuditedCall): Decided => {
  const decided = ruling?.decided ?? null;
  const refusal = outcome?.kind === 'failure' ? outcome.failure.decision : undefined;
  const approval = ruling?.asked ?? refusal?.approval ?? batch.request.resumed?.spec.approval ?? null;
  return {
    rules: decided?.rules ?? (refusal?.rule === undefined ? [] : [{ name: refusal.rule, decision: 'refused' }]),
    approval: decided?.approval ?? (approval === null ? null : { ...approval, by: null }),
  };
};

const SUCCESS = ',"outcome":"success","executed":"yes","code":null,"duration_ms":';

const describeEnd = ({ state, outcome }: AuditedCall): string => {
  if (state.kind === 'success' && outcome?.kind === 'success' && outcome.executed === 'yes') return SUCCESS;
  const { outcome: ended, executed, code } = state.kind === 'pending' ? readPending(state.state) : readEnd(outcome);
  return `,"outcome":"${ended}","executed":"${executed}","code":${JSON.stringify(code)},"duration_ms":`;
};

const readPending = (state: PendingState | undefined) => ({
  outcome: 'pending',
  executed: state?.kind === 'pending' && state.pending.state === 'running' ? 'maybe' : 'no',
  code: null,
});
