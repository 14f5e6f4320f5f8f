import * as z from 'zod';
import { FAILURE_CODES, type FailureCode } from '../../src/contract/failure.ts';

/** What an agent should make of an answer: nothing is there; more is there; call better; a human must act; later. */
export type AuditKind = 'empty' | 'partial' | 'retry' | 'failed' | 'upstream';

/**
 * Every situation that a tool may meet, and what it is to the agent, in the order of the page. The first nine are the two
 * tables of the rule that a retry means "you called this wrong" and an empty answer "nothing matched".
 */
export const SITUATIONS = {
  'set-up missing': 'retry',
  'API not enabled': 'retry',
  'page out of order': 'retry',
  'malformed parameter': 'retry',
  'wrong value': 'retry',
  'command failed': 'retry',
  'search matched nothing': 'empty',
  'time range has no events': 'empty',
  'list is empty': 'empty',
  'nothing is left': 'empty',
  'not all can be had': 'partial',
  'credentials refused': 'failed',
  'no access': 'failed',
  'rate limit': 'upstream',
  'upstream is down': 'upstream',
} as const satisfies Record<string, AuditKind>;

export type Situation = keyof typeof SITUATIONS;

const SituationName = z.custom<Situation>((word) => typeof word === 'string' && Object.hasOwn(SITUATIONS, word));

/** One thing that one tool says. Each row is proved by a test that brings the real tool there. */
export type AuditRow = z.infer<typeof AuditRow>;
const AuditRow = z.object({
  tool: z.string(),
  situation: SituationName,
  /** What has happened, as the rest of a sentence that begins with "When": `no file matches`. Unique in its tool. */
  when: z.string(),
  /** null: a success, marked as empty where the situation is of that kind. */
  code: z.enum(FAILURE_CODES).nullable(),
  /** The text of the answer; `…` stands for what differs from call to call. */
  says: z.string(),
});

/** `AUDIT` of `audit-rows.ts` in the tests of a toolkit: what the tools of a toolkit say, proved by the test beside it. */
export type ToolkitAudit = z.infer<typeof ToolkitAudit>;
export const ToolkitAudit = z
  .object({
    rows: z.array(AuditRow).readonly(),
    /** What of a tool is bounded beside its time, its arguments and its settings. */
    limits: z.record(z.string(), z.array(z.string())).optional(),
  })
  .readonly();

/** What a row is called in tests: unique. */
export const toRowName = ({ tool, when }: Pick<AuditRow, 'tool' | 'when'>): string => `${tool}: ${when}`;

type RowText = readonly [situation: Situation, when: string, says: string, code?: FailureCode];

/** The rows of one tool. Without a code: `retry_requested` for a retry, `tool_failed` for a human. */
export const rowsOf = (tool: string, texts: readonly RowText[]): readonly AuditRow[] =>
  texts.map(([situation, when, says, code]) => ({
    tool,
    situation,
    when,
    says,
    code: code ?? USUAL_CODE[SITUATIONS[situation]],
  }));

const USUAL_CODE = {
  empty: null,
  partial: null,
  retry: 'retry_requested',
  failed: 'tool_failed',
  upstream: 'upstream_unavailable',
} as const satisfies Record<AuditKind, FailureCode | null>;
