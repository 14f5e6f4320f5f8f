import * as z from 'zod';
import { EFFECTS } from '../../src/contract/failure.ts';
import { operationNotAllowed, ProblemError } from '../../src/routes/problems.ts';
import { ok, PROBLEMS, problem, TOO_LONG, toSchema } from './answer-schemas.ts';

// What the OpenAPI document says of approvals.

const Arguments = z.record(z.string(), z.unknown()).nullable();

const ApprovalRecord = z
  .object({
    id: z.string(),
    digest: z
      .string()
      .describe(
        '`sha256:` and 64 hex digits over tool and arguments: for `If-Match`. After an edit that of the edited call.',
      ),
    state: z
      .enum(['waiting', 'granted', 'used', 'denied', 'expired', 'cancelled', 'stale'])
      .describe(
        '`waiting`: it can be decided. `granted`: the call may run, once. `used`: it has. `denied`: the same call is refused. `stale`: the tool or a right has changed since.',
      ),
    tool: z.string(),
    effects: z.enum(EFFECTS),
    arguments: Arguments.describe(
      'As they were sent, with the defaults of the schema, sensitive ones hidden; null if the tool is not here now, and in a list if they are longer than 16,384 characters.',
    ),
    edited_arguments: Arguments.describe('What runs in their place; null: the same.'),
    summary: z.string().describe('What would run, as its rule says it.'),
    key: z.string().nullable().describe('The name of the API key that called; null while anonymous.'),
    session: z.string().nullable().describe('The SHA-256 of the id of its session; null without one.'),
    call: z
      .string()
      .nullable()
      .describe('The handle of the pending call that waits; null: its caller has to call again.'),
    request_id: z.string().describe('Of the batch that called first.'),
    index: z.int().min(0).describe('The place of the call in its batch.'),
    by: z.array(z.enum(['operator', 'requester'])).describe('Who may decide.'),
    four_eyes: z.boolean().describe('Another key than the one that called has to decide.'),
    edit: z.boolean().describe('Whether the arguments may be changed.'),
    requested_at: z.iso.datetime(),
    expires_at: z.iso
      .datetime()
      .nullable()
      .describe('Until then it can be decided, the call may run, or the denial holds; null: it is over.'),
    decision: z.enum(['approve', 'deny', 'edit']).nullable(),
    decided_by: z.string().nullable().describe('The name of the key that decided.'),
    decided_at: z.iso.datetime().nullable(),
    reason: z.string().nullable(),
  })
  .meta({ id: 'ApprovalRecord' });
const ApprovalList = z.object({
  approvals: z.array(ApprovalRecord).describe('Oldest first.'),
  total: z.int().min(0).describe('How many fit the filter, listed or not.'),
});

const DIGEST = 'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';
const EXAMPLE = {
  id: 'a_0123456789abcdefghijkl',
  digest: DIGEST,
  state: 'waiting',
  tool: 'create_payment',
  effects: 'write',
  arguments: { amount: 5 },
  edited_arguments: null,
  summary: 'Pay 5',
  key: 'agent',
  session: null,
  call: null,
  request_id: 'lost-answer-0001',
  index: 0,
  by: ['operator'],
  four_eyes: false,
  edit: false,
  requested_at: '2026-11-29T03:00:00.000Z',
  expires_at: '2026-11-29T03:30:00.000Z',
  decision: null,
  decided_by: null,
  decided_at: null,
  reason: null,
} as const satisfies z.input<typeof ApprovalRecord>;
const GRANTED = {
  ...EXAMPLE,
  ...{ state: 'granted', decision: 'approve', decided_by: 'ops', decided_at: '2026-11-29T03:05:00.000Z' },
  expires_at: '2026-11-29T03:35:00.000Z',
} as const;

const STORE_AWAY = problem(
  'The store is unavailable, the token cannot be verified now, or the service is stopping.',
  new ProblemError(503, 'store_unavailable', 'The session store is unavailable. Try again.'),
);
const NOT_FOUND = problem(
  'The tenant has no such approval, or it is no longer kept.',
  new ProblemError(404, 'approval_not_found', 'There is no such approval, or it is no longer kept.'),
);
const NOT_ALLOWED = problem(
  'The key may not do that.',
  operationNotAllowed('The key may not decide this approval: it needs the operation approve, which is never implied.'),
);

export const LIST_APPROVALS_SCHEMA = {
  operationId: 'listApprovals',
  summary: 'List the calls that wait for an approval',
  description: "Of the caller's tenant, and of the tools that its key may use.",
  tags: ['tool calls'],
  querystring: {
    type: 'object',
    properties: {
      state: { type: 'string', enum: ['waiting'], description: 'Default waiting.', examples: ['waiting'] },
      tool: {
        type: 'string',
        pattern: '^[A-Za-z0-9_.-]{1,64}$',
        description: 'Calls of one tool.',
        examples: ['create_payment'],
      },
      limit: {
        type: 'integer',
        minimum: 1,
        maximum: 1000,
        description: 'How many are listed. Default 100.',
        examples: [10],
      },
    },
  },
  response: {
    200: ok(ApprovalList, 'The approvals.', { example: { approvals: [EXAMPLE], total: 1 } }),
    ...PROBLEMS,
    400: problem(
      'A parameter is not valid or not known.',
      new ProblemError(400, 'invalid_query', 'limit: must be from 1 to 1000'),
    ),
    414: TOO_LONG,
    503: STORE_AWAY,
  },
};

const PARAMS = {
  type: 'object',
  properties: {
    id: {
      type: 'string',
      pattern: '^a_[A-Za-z0-9_-]{22}$',
      description: 'The id of the approval.',
      examples: ['a_0123456789abcdefghijkl'],
    },
  },
  required: ['id'],
} as const;

export const APPROVAL_SCHEMA = {
  operationId: 'getApproval',
  summary: 'Read an approval',
  description: 'Kept for a day after its end.',
  tags: ['tool calls'],
  params: PARAMS,
  response: {
    200: ok(ApprovalRecord, 'The approval. `ETag` has its digest.', { example: EXAMPLE }),
    ...PROBLEMS,
    400: problem('The request is malformed.', 400),
    404: NOT_FOUND,
    414: TOO_LONG,
    503: STORE_AWAY,
  },
};

const Decision = z
  .strictObject({
    decision: z.enum(['approve', 'deny', 'edit']).describe('`edit`: approves other arguments.'),
    arguments: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('All arguments. Required with `edit`, and with it alone.'),
    reason: z.string().min(1).max(500).optional().describe('Why: of a denial the model reads it.'),
  })
  .meta({ id: 'ApprovalDecision' });

const Headers = z.object({
  'if-match': z
    .string()
    .regex(/^(W\/)?"?sha256:[0-9a-f]{64}"?$/)
    .optional()
    .describe('The digest of the approval as it was read. Required.')
    .meta({ examples: [`"${DIGEST}"`] }),
});

export const DECIDE_SCHEMA = {
  operationId: 'decideApproval',
  summary: 'Approve or deny a call',
  description:
    'Needs a key with the operation `approve`, which is never implied, or, where the rule says so, the key that called. The first decision counts. An approved call runs once: a pending one by itself, another when its caller sends it again.',
  tags: ['tool calls'],
  params: PARAMS,
  headers: toSchema(Headers, 'input'),
  body: toSchema(Decision, 'input'),
  response: {
    200: ok(ApprovalRecord, 'The approval as it stands now. `ETag` has its digest.', { example: GRANTED }),
    ...PROBLEMS,
    400: problem(
      'The body is not valid, or the arguments of an edit do not fit.',
      new ProblemError(400, 'invalid_decision', 'Send {"decision": "approve" | "deny" | "edit", "reason"?}.'),
    ),
    403: NOT_ALLOWED,
    404: NOT_FOUND,
    409: problem(
      'It is decided, or over. `detail` says who has decided what.',
      new ProblemError(
        409,
        'approval_decided',
        "'ops' has decided deny at 2026-11-29T03:05:00.000Z; the approval is denied.",
      ),
    ),
    412: problem(
      'The approval is for another digest.',
      new ProblemError(412, 'digest_changed', 'The approval is for another digest. Read it again, then decide.'),
    ),
    413: problem('The body is larger than 300,000 bytes.', 413),
    414: TOO_LONG,
    415: problem('Not application/json in UTF-8.', 415),
    428: problem(
      'A decision without `If-Match`.',
      new ProblemError(428, 'digest_required', 'Send If-Match with the digest that GET /approvals shows.'),
    ),
    503: STORE_AWAY,
  },
};

export const WITHDRAW_SCHEMA = {
  operationId: 'withdrawApproval',
  summary: 'Undo a denial, or withdraw an approval',
  description:
    'A denied call may be asked for again. One that waits, or was granted and has not run, is cancelled. Needs the right to decide it. Repeating the request is harmless.',
  tags: ['tool calls'],
  params: PARAMS,
  response: {
    200: ok(ApprovalRecord, 'The approval as it stands now.', {
      example: { ...EXAMPLE, state: 'cancelled', expires_at: null },
    }),
    ...PROBLEMS,
    400: problem('The request is malformed.', 400),
    403: NOT_ALLOWED,
    404: NOT_FOUND,
    414: TOO_LONG,
    415: problem('Content-Type is present but is not a media type.', 415),
    503: STORE_AWAY,
  },
};
