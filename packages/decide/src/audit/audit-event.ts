import { EFFECTS, EXECUTED, FAILURE_CODES, OUTCOMES } from 'recourse-server/contract/failure';
import * as z from 'zod';

/** Rises with each change that a reader of lines must know of; a new member alone is none. */
export const AUDIT_VERSION = 1;

const Digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);
const EffectId = z.string().regex(/^e_[\w-]{22}$/);

/** The longest text that a caller has chosen and a line shows; a longer one ends with `…`. */
export const MAX_AUDIT_ID = 128;
export const MAX_AUDIT_ARGUMENTS = 8192;
export const MAX_AUDIT_REASON = 500;

const everyEvent = {
  audit: z.literal(AUDIT_VERSION).describe('The version of this schema; first in every line.'),
  time: z.iso.datetime().describe('When the line was made, by the clock of the process.'),
  tenant: z.string(),
  tool: z.string().nullable().describe("The tool's own name; null: the call names no tool there is."),
};

const everyCall = {
  session: z.string().nullable().describe('Opaque, as in the log; null without a session.'),
  request_id: z.string(),
  index: z.int().nonnegative().describe('The place of the call in its request.'),
};

const ended = {
  outcome: z.enum(OUTCOMES),
  executed: z.enum(EXECUTED),
  code: z.enum(FAILURE_CODES).nullable().describe('Null on success, and while a call is pending.'),
};

const Call = z
  .strictObject({
    ...everyEvent,
    kind: z.literal('call'),
    key: z.string().nullable().describe('The name of the key, or the subject of the token; null while anonymous.'),
    caller: z.string().optional().describe('Opaque: the same for all calls of one key or subject.'),
    ...everyCall,
    call_id: z.union([z.string(), z.number()]).nullable(),
    effect_id: EffectId.optional().describe(
      'What the effect is known by, where the handler or a record has asked for it.',
    ),
    pending: z.string().optional().describe('The handle of the pending call that it is.'),
    tool_digest: Digest.nullable().describe('Name, effects, both schemas and the source of the tool.'),
    effects: z.enum(EFFECTS).nullable(),
    arguments_digest: Digest.nullable().describe(
      'SHA-256 of the RFC 8785 text of the arguments; null if they cannot be read, and with AUDIT_ARGUMENTS=redacted.',
    ),
    arguments: z.string().optional().describe('With AUDIT_ARGUMENTS=redacted: JSON text without secrets, perhaps cut.'),
    rules: z
      .array(z.strictObject({ name: z.string(), decision: z.string() }))
      .optional()
      .describe('What rules have decided.'),
    approval: z
      .strictObject({
        id: z.string(),
        digest: z.string(),
        by: z.string().nullable().describe('Who decided; null: nobody has yet, or it is not known here.'),
      })
      .optional(),
    ...ended,
    duration_ms: z.number().nonnegative().describe('Of the run; 0: nothing ran.'),
    replayed: z
      .literal(true)
      .optional()
      .describe('Nothing ran for it now: an earlier try, or an equal call of the batch, did.'),
  })
  .describe('A call has its answer, or was accepted as pending.');

const Decision = z
  .strictObject({
    ...everyEvent,
    kind: z.literal('decision'),
    effect_id: EffectId.nullable(),
    by: z.string().nullable().describe('The name of the key, or the subject of the token; null: anonymous, or nobody.'),
    session: z.string().nullable(),
    request_id: z.string().nullable(),
    index: z.int().nonnegative().nullable(),
    of: z.enum(['approval', 'verdict']),
    decision: z
      .string()
      .describe(
        'Of an approval: requested, approved, edited, denied, expired, undone (withdrawn by a person), cancelled (its call was), stale. Of a verdict: what a person says.',
      ),
    approval: z.strictObject({ id: z.string(), digest: z.string() }).nullable(),
    accepted: z.boolean().describe('False: it came too late, and changed nothing.'),
    reason: z.string().nullable().describe('In the words of the person, without secrets.'),
  })
  .describe('An approval was asked for or decided, or a person has said how a write ended.');

const Verdict = z
  .strictObject({
    ...everyEvent,
    kind: z.literal('verdict'),
    effect_id: EffectId.nullable(),
    ...everyCall,
    by: z.enum(['tool', 'run', 'person']).describe('`run`: the handler itself ended after its call was answered.'),
    ...ended,
    attempts: z.int().nonnegative().describe('How often was looked.'),
  })
  .describe('It has become known how a call ended that was answered without that.');

const Contradiction = z
  .strictObject({ ...everyEvent, kind: z.literal('contradiction'), effect_id: EffectId.nullable() })
  .describe('A write ended otherwise than a verdict had said.');

const CircuitClosed = z
  .strictObject({
    ...everyEvent,
    tool: z.null().describe('Several tools may share a circuit.'),
    kind: z.literal('circuit_closed'),
    circuit: z.string().describe('The name of the tool, or of the upstream whose tools share it.'),
    by: z.string().nullable().describe('The name of the key, or the subject of the token; null while anonymous.'),
    request_id: z.string(),
  })
  .describe('A person has closed the circuit of a tool or an upstream in all replicas, before it closed by itself.');

/** One line of the audit log. */
export const AuditEvent = z
  .discriminatedUnion('kind', [Call, Decision, Verdict, Contradiction, CircuitClosed])
  .describe('One line of the audit log of Recourse; docs/audit.md.');

export type DecisionEvent = Readonly<Omit<z.infer<typeof Decision>, 'audit' | 'time' | 'kind'>>;
export type VerdictEvent = Readonly<Omit<z.infer<typeof Verdict>, 'audit' | 'time' | 'kind'>>;
export type CircuitClosedEvent = Readonly<Omit<z.infer<typeof CircuitClosed>, 'audit' | 'time' | 'kind' | 'tool'>>;
export type ContradictionEvent = Readonly<Omit<z.infer<typeof Contradiction>, 'audit' | 'time' | 'kind'>>;
