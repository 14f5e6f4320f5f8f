import { Problem, ToolCallsResponse, type ToolResult } from '#src/contract/tool-result.ts';
import type { Accounts } from './accounts.ts';
import type { Exchange } from './exchange.ts';
import type { Ledger } from './ledger.ts';
import type { PlannedBatch, PlannedCall } from './plan-batch.ts';

type Answered = Extract<Exchange, { kind: 'answered' }>;

/** Codes that any call may come to while others misbehave, replicas stop and budgets end. */
const ANY_CALL = new Set([
  'overloaded',
  'retry_budget_exhausted',
  'cancelled',
  'shutting_down',
  'timeout',
  'not_executed',
]);
const INLINE_TOOLS = new Set(['echo', 'read_file', 'write_file']);
const LATE_MS = 2000;

// Of a keyed write: without its record it does not run, and one that began and was never written down nobody knows of.
const KEYED_WRITE = new Set(['store_unavailable', 'outcome_unknown']);
// Of calls that fail again and again.
const FAILING_CALL = new Set(['circuit_open', 'loop_detected']);

type Note = Pick<Ledger, 'answered'>;

/** Judges the 200 of a batch: every result in its place, valid, about its own call, and true to the ledger later. */
export const judgeAnswer = (
  answer: Answered,
  batch: PlannedBatch,
  accounts: Accounts,
  ledger: Note,
): readonly ToolResult[] => {
  accounts.add('batches accepted');
  accounts.add('calls', batch.calls.length);
  accounts.durations.batches.push(answer.tookMs);
  const id = answer.requestId;
  if (answer.tookMs > batch.deadlineMs + LATE_MS)
    accounts.offend('late_answer', `${id}: ${answer.tookMs.toFixed(0)} ms, its deadline was ${batch.deadlineMs}`);
  const parsed = ToolCallsResponse.safeParse(toJson(answer.body));
  if (!parsed.success) {
    accounts.offend('invalid_result', `${id}: ${parsed.error.message} in ${answer.body.slice(0, 200)}`);
    return [];
  }
  const { results, request_id: echoed } = parsed.data;
  accounts.add('results', results.length);
  if (echoed !== id) accounts.offend('invalid_result', `${id} in the header, ${echoed} in the body`);
  if (results.length !== batch.calls.length)
    accounts.offend('lost_result', `${id}: ${results.length} results for ${batch.calls.length} calls`);
  for (const [place, call] of batch.calls.entries())
    judgeResult(results[place], { call, place, requestId: id, isKeyed: batch.key !== null }, accounts, ledger);
  return results;
};

type Place = {
  readonly call: PlannedCall | null;
  readonly place: number;
  readonly requestId: string;
  readonly isKeyed: boolean;
};

const judgeResult = (result: ToolResult | undefined, at: Place, accounts: Accounts, ledger: Note): void => {
  // Counted above, for the batch as a whole.
  if (result === undefined) return;
  const { call, place, requestId } = at;
  const asked = call === null ? 'no call' : `${call.name} ${JSON.stringify(call.arguments)}`;
  const where = `${requestId} call ${place}, ${asked}: ${JSON.stringify(result)}`;
  if (!isInPlace(result, at)) accounts.offend('lost_result', where);
  if (!isWhole(result)) accounts.offend('invalid_result', where);
  const code = result.error?.code ?? 'ok';
  accounts.add(`code ${code}`);
  if (code === 'internal_error') accounts.offend('service_bug', where);
  if (call?.line !== undefined) ledger.answered(call.line, result.executed, where);
  judgeEnd(at, result, where, accounts);
};

const isInPlace = ({ index, name, id }: ToolResult, { call, place }: Place): boolean =>
  index === place && (call === null || (name === call.name && id === call.id));

const isWhole = ({ success, outcome, error, message }: ToolResult): boolean =>
  success === (outcome === 'success') && success === (error === null) && (success || message !== '');

const NO_CALL = { nature: 'bad', codes: ['invalid_call'], name: '' } as const;

const judgeEnd = ({ call, isKeyed }: Place, result: ToolResult, where: string, accounts: Accounts): void => {
  const { nature, codes, name } = call ?? NO_CALL;
  const code = result.error?.code ?? 'ok';
  accounts.add(`${nature} calls`);
  if (nature === 'killer') accounts.add(`killed ${name}: ${code}`);
  if (call?.nature === 'good') judgeGood(call, result, where, accounts);
  const mayBe = ANY_CALL.has(code) || codes.some((expected) => expected === code);
  if (!mayBe && !isOwnEnd(code, call, isKeyed))
    accounts.offend(nature === 'good' ? 'good_failed' : 'wrong_code', where);
};

/** What only calls of its kind come to. */
const isOwnEnd = (code: string, call: PlannedCall | null, isKeyed: boolean): boolean => {
  if (call === null) return false;
  if (call.nature !== 'good' && FAILING_CALL.has(code)) return true;
  // Where Redis is away no record is kept, and what is safe runs again with every repeat: the tenth time is a loop.
  return isKeyed && (code === 'loop_detected' || (call.line !== undefined && KEYED_WRITE.has(code)));
};

const judgeGood = (call: PlannedCall, result: ToolResult, where: string, accounts: Accounts): void => {
  if (result.error !== null) {
    accounts.add(`good calls not run: ${result.error.code}`);
    return;
  }
  accounts.add('good calls that succeeded');
  // Its duration is that of the first time.
  if (result.replayed !== true)
    accounts.durations[INLINE_TOOLS.has(call.name) ? 'inline' : 'hosted'].push(result.duration_ms);
  if (call.isRight?.(result.value) === false) accounts.offend('wrong_value', where);
};

/** Judges an answer that is no 200; `expected` is the status of a malformed request, else null. */
export const judgeRefusal = (answer: Answered, expected: number | null, accounts: Accounts): void => {
  const { status, requestId } = answer;
  const shown = `${requestId}: ${status} ${answer.body.slice(0, 300)}`;
  if (status >= 500 && status !== 503) accounts.offend('server_error', shown);
  const problem = Problem.safeParse(toJson(answer.body));
  const isProblem = answer.contentType.startsWith('application/problem+json') && problem.data?.status === status;
  if (status === 503) {
    if (!isProblem || answer.retryAfter === null) accounts.offend('bare_503', shown);
    return;
  }
  if (status !== expected) accounts.offend('wrong_status', `expected ${expected ?? 200}, got ${shown}`);
  if (!isProblem) accounts.offend('invalid_result', shown);
};

const toJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
};
