import type { Approval, RenderedResult, Warning } from '../contract/tool-result.ts';
import { toCanonicalText, toDigest } from '../json/canonical-text.ts';
import { SMALL_TEXT, weighJson } from '../json/weigh-json.ts';
import type { Link } from '../memory/linked-list.ts';
import type { Tool } from '../tools/tool.ts';
import { AnswerSize } from './answer-size.ts';
import type { BatchAnswer, BatchRequest } from './batch-request.ts';
import { type CallOutcome, type Failure, failed, toFailure } from './call-outcome.ts';
import { BatchCancellation } from './deadline.ts';
import type { ExecutorServices } from './executor-services.ts';
import { NO_ROOM_FOR_ARGUMENTS_TEXT } from './failure-text.ts';
import type { EarlierCall, RecordLease } from './idempotency-store.ts';
import { createWideLiterals, type ParsedArguments, parseArguments, type WideLiterals } from './parse-arguments.ts';
import type { AcceptedCall, AsyncTerms, PendingState } from './pending-calls.ts';
import type { Ruling } from './policies.ts';
import type { Write } from './reconciler.ts';
import { type Admission, type Budget, type CallVerdict, type SettledCall, UNKNOWN_TOOL } from './session-store.ts';
import { readOutcome, readStoredResult } from './stored-result.ts';
import type { NameSuggestions } from './suggest-names.ts';

/** What is answered of a call before its result is made. */
export const NO_RESULT: RenderedResult = { json: 'null', handle: null, plainValueJson: null };

/**
 * Where a call stands. An outcome is a state by itself, so that an ordinary call costs no object for it.
 *
 * | state            | meaning                                                                | set by stage    | next           |
 * |------------------|------------------------------------------------------------------------|-----------------|----------------|
 * | open             | waits for its turn or a slot, or its handler runs                      | read            | every other    |
 * | obstructed       | does not run, for this reason; its session is not asked                | admit           | failure        |
 * | success, failure | ended in this batch                                                    | any up to run   | itself ¹       |
 * | overdue          | answered by its time limit; the handler goes on, and `late` is its end | run             | itself ¹       |
 * | pending          | accepted, by this batch or another; goes on after the answer           | record, run     | ended          |
 * | ended            | was pending, and ended before its batch was answered                   | record, run     | itself ¹       |
 * | replayed         | answered by what an earlier try left; null: a result that is hidden    | record          | itself ¹       |
 * | copied           | repeats a call of its batch word for word, and has its outcome         | answer          | itself ¹       |
 *
 * ¹ With its outcome cut to the room of the answer, and redacted.
 *
 * Further kinds of waiting fit in here. A write that a person has to approve is `pending`, with `waiting_for_approval` in its
 * record: `runCall` accepts it where it would begin. A write whose outcome is unknown keeps its state while its batch looks for it;
 * what is found becomes its state, or, where it is `overdue`, its outcome.
 */
type CallState =
  | { readonly kind: 'open' }
  | { readonly kind: 'obstructed'; readonly failure: Failure }
  | CallOutcome
  /** `late` is null where nobody will ever know the end. Never rejects. */
  | { readonly kind: 'overdue'; readonly outcome: CallOutcome; readonly late: LateEnd }
  | { readonly kind: 'pending'; readonly accepted: AcceptedCall; readonly by: AcceptedBy; readonly state: PendingState }
  | {
      readonly kind: 'ended';
      readonly by: AcceptedBy;
      readonly handle: string;
      readonly outcome: CallOutcome;
      readonly result: string;
    }
  | { readonly kind: 'replayed'; readonly outcome: CallOutcome; readonly result: string | null }
  | { readonly kind: 'copied'; readonly outcome: CallOutcome; readonly late: LateEnd | null };

type LateEnd = Promise<CallOutcome | null>;

/** Which batch accepted a pending call. */
type AcceptedBy = 'this_batch' | 'another_batch';

const OPEN: CallState = { kind: 'open' };

/**
 * One call of a batch, from reading to answer. Each stage fills its fields and no other:
 *
 * | stage    | sets                                                                          |
 * |----------|-------------------------------------------------------------------------------|
 * | read     | kind, tool, missingTool, refusal, rawArguments, timeoutMs, original, sharesId |
 * | record   | state; recordKey, record                                                      |
 * | admit    | state; isAsked, verdict                                                       |
 * | run      | state; ruling; durationMs                                                     |
 * | answer   | state; reference, result, isAnswered                                          |
 */
export class Call {
  readonly batch: Batch;
  readonly index: number;
  readonly id: string | number | null;
  /** The name asked for, which may be another than its tool's own. */
  readonly name: string | null;
  state: CallState = OPEN;

  /** `unknown_tool` is counted by its session before it fails; `refused` fails without asking the session. */
  kind: 'ready' | 'unknown_tool' | 'refused' = 'refused';
  tool: Tool | null = null;
  /** The tool's own name, where the tool is known and cannot be called. */
  missingTool: string | null = null;
  /** Why it cannot run, as far as the call itself tells; null where it is `ready`. */
  refusal: Failure | null = null;
  rawArguments: unknown = undefined;
  timeoutMs = 0;
  /** Parsed when they are first asked for, by `readArguments`. */
  parsedArguments: ParsedArguments | null = null;
  argumentsText: string | null = null;
  fingerprint: string | null = null;
  /** The earlier call of the batch that it repeats word for word. Only that one runs. */
  original: Call | null = null;
  /** What its effect is known by; null: nobody has asked. */
  effectId: string | null = null;
  /** As it was noted as a write that begins, for who looks for it. */
  noted: Write | null = null;
  /** A different call of the batch has the same id. */
  sharesId = false;

  /** Where its id is a key: that of the record that it has beside its batch's, and the record while it holds it. */
  recordKey: string | null = null;
  record: RecordLease | null = null;

  isAsked = false;
  /** What limits and loop guard of the session say; null where they say nothing. */
  verdict: CallVerdict | null = null;
  /** What rules and people have said of it; null: nobody was asked. */
  ruling: Ruling | null = null;
  durationMs = 0;

  /** Under which the log tells more of a failure; "" on success. */
  reference = '';
  result: RenderedResult = NO_RESULT;
  /** Its result was made, and told to who watches, while other calls of the batch ran. */
  isAnswered = false;

  constructor(batch: Batch, index: number, id: string | number | null, name: string | null) {
    this.batch = batch;
    this.index = index;
    this.id = id;
    this.name = name;
  }

  /** How it ended; null while it has not. */
  get outcome(): CallOutcome | null {
    const { state } = this;
    if (state.kind === 'success' || state.kind === 'failure') return state;
    return 'outcome' in state ? state.outcome : null;
  }

  /** The JSON text of a result that was made before, in whose place nothing ran now; null where there is none. */
  get storedResult(): string | null {
    const { state } = this;
    return state.kind === 'replayed' || state.kind === 'ended' ? state.result : null;
  }

  /** What its handler comes to after the answer; null where the answer waits for it. */
  get late(): LateEnd | null {
    const { state } = this;
    return state.kind === 'overdue' || state.kind === 'copied' ? state.late : null;
  }

  /** Whether it was accepted as one that may outlive its batch, now or by another batch. */
  get isAccepted(): boolean {
    return this.state.kind === 'pending' || this.state.kind === 'ended';
  }

  /** Its arguments; null where they cannot be read, or no tool was to get them. */
  get input(): Readonly<Record<string, unknown>> | null {
    const parsed = isReady(this) ? readArguments(this) : null;
    return parsed?.ok === true ? parsed.value : null;
  }

  /** Of the pending call that it is, runs, or has become; null: it is none. */
  get handle(): string | null {
    const { state, batch } = this;
    if (state.kind === 'pending') return state.accepted.handle;
    if (state.kind === 'ended') return state.handle;
    return batch.request.resumed === undefined ? null : batch.request.batchId;
  }

  /** What a person has to approve before it runs; null: nothing. */
  get asked(): Approval | null {
    return this.ruling?.asked ?? null;
  }

  /** With what is settled what was reserved for it; null: nothing was. */
  get grantTicket(): string | null {
    return this.ruling?.grant?.ticket ?? null;
  }

  /** Under which name its budget is kept and its numbers are labelled. */
  get budgetKey(): string {
    if (this.kind === 'unknown_tool') return UNKNOWN_TOOL;
    return this.tool?.name ?? this.missingTool ?? UNKNOWN_TOOL;
  }

  /** Ends it; or gives it, in its state, another form of its outcome. */
  end(outcome: CallOutcome): undefined {
    const { state } = this;
    this.state = 'outcome' in state ? { ...state, outcome } : outcome;
  }

  /** Ends a call that did not run, for that reason. */
  fail(failure: Failure): undefined {
    return this.end(failed(failure));
  }

  /** Makes of it the pending call that it is. */
  accept(accepted: AcceptedCall, by: AcceptedBy): void {
    this.batch.hasAccepted = true;
    this.state = { kind: 'pending', accepted, by, state: accepted.state };
    this.progress(accepted.state);
  }

  /** How the pending call that it is stands now. */
  progress(state: PendingState): void {
    if (this.state.kind !== 'pending') return;
    const { by, accepted } = this.state;
    this.state =
      state.kind === 'pending' ? { ...this.state, state } : { ...readEnded(state.result), by, handle: accepted.handle };
  }
}

const readEnded = (result: string) =>
  ({ kind: 'ended', outcome: readOutcome(readStoredResult(result)), result }) as const;

/** A call that names a tool which its caller may use. */
export type ReadyCall = Call & { readonly kind: 'ready'; readonly tool: Tool };

export const isReady = (call: Call): call is ReadyCall => call.kind === 'ready';

/** The record that a write is noted in before it begins; null: it runs as that of any batch without a key. */
export const recordOf = ({ record, batch }: Call): RecordLease | null => {
  if (record !== null || batch.record?.state !== 'away') return record ?? batch.record;
  // Without a key it could not be sent again.
  return batch.request.idempotency?.key === null ? null : batch.record;
};

/** One batch, from acceptance to answer. */
export class Batch {
  readonly request: BatchRequest;
  readonly services: ExecutorServices;
  /** How it is answered before its calls have ended, as its caller prefers or its record asks for; null: each call is answered by how it ended. */
  async: AsyncTerms | null;
  /** Milliseconds of the executor's clock. */
  readonly startedAt: number;
  /** When its last call ended, or its calls began to run: a call that runs at once begins where the one before it ended. */
  moment = 0;
  readonly cancellation: BatchCancellation;
  wideLiterals: WideLiterals;
  readonly size: AnswerSize;
  /** In the order of the request. */
  calls: readonly Call[] = NO_CALLS;
  /** Whether any call repeats another, or shares its id with one. */
  hasDuplicates = false;
  /** What its Idempotency-Key holds; null without one. */
  record: RecordLease | null = null;
  /** What earlier tries left in that record, by index. */
  earlier: ReadonlyMap<number, EarlierCall> = NOTHING;
  /** The calls that its session is asked for, in their order. */
  requested: readonly SettledCall[] = NO_REQUESTED;
  /** null where there was nothing to ask the session for. */
  admission: Admission | null = null;
  /** After the batch, by tool; null where settling was not waited for. */
  budgets: ReadonlyMap<string, Budget> | null = null;
  /** Whether limits or loop guard say anything of any call. */
  hasVerdicts = false;
  /** A tool that has failed in the session is tried again. */
  hasRetries = false;
  /** Said on every result that this batch made. */
  warnings: readonly Warning[] = NO_WARNINGS;
  /** Made with the first name that no tool has. */
  suggestions: NameSuggestions | null = null;
  /** The last failure in which there was nothing to redact: calls that failed alike share it. */
  cleanOutcome: CallOutcome | null = null;
  /** Whether any call is a pending one. */
  hasAccepted = false;
  /** Its results are found under its request id, where it has a record: an answer may name that. */
  isFound = true;
  /** Its pending call did not end here: another worker runs it. */
  isGivenBack = false;
  /** Every call is answered by the record of an earlier try. */
  isReplay = false;
  answer: BatchAnswer | null = null;
  /** Called at the end of every call that has run; null: nothing listens to the batch. */
  callEnded: ((call: Call) => void) | null = null;

  /** It is answered: nothing may begin or end in it any more. */
  isClosed = false;
  /** Among the batches that wait. */
  place: Link<Batch> | null = null;

  constructor(request: BatchRequest, services: ExecutorServices) {
    this.request = request;
    this.services = services;
    this.async = request.async ?? null;
    this.startedAt = services.now();
    this.cancellation = new BatchCancellation(this.startedAt + request.deadlineMs, request.client, services);
    this.wideLiterals = createWideLiterals(request.body.source);
    this.size = new AnswerSize(services.maxAnswerBytes, request.memory);
  }
}

const NO_CALLS: readonly Call[] = [];
const NO_REQUESTED: Batch['requested'] = [];
const NOTHING: Batch['earlier'] = new Map();
const NO_WARNINGS: readonly Warning[] = [];

/** The arguments of a call, read once however often they are asked for. */
export const readArguments = (call: ReadyCall): ParsedArguments => {
  call.parsedArguments ??= hasRoomForArguments(call)
    ? parseArguments(call.rawArguments, call.batch.wideLiterals, call.tool)
    : { ok: false, failure: toFailure('overloaded', NO_ROOM_FOR_ARGUMENTS_TEXT, call.tool) };
  return call.parsedArguments;
};

// Arguments that are no text were parsed, and weighed, with the body; those of a pending call with its record.
const hasRoomForArguments = ({ rawArguments, batch: { request } }: ReadyCall): boolean =>
  typeof rawArguments !== 'string' ||
  request.resumed !== undefined ||
  rawArguments.length <= SMALL_TEXT ||
  request.memory?.takeArguments(weighJson(rawArguments)) !== false;

/** RFC 8785 text of the arguments; the raw text where they do not parse. */
export const toArgumentsJson = (call: ReadyCall): string => {
  if (call.argumentsText !== null) return call.argumentsText;
  const text = toText(call);
  // A long one is made again: it would stay in memory beside the arguments for as long as the call runs.
  if (text.length < LONG_TEXT) call.argumentsText = text;
  return text;
};

const LONG_TEXT = 65_536;

/** SHA-256 of tool and arguments, 64 hex digits: the journal's name for a call. */
export const fingerprintOf = (call: ReadyCall): string => {
  call.fingerprint ??= toDigest(`${call.tool.name}\n${toArgumentsJson(call)}`);
  return call.fingerprint;
};

const toText = (call: ReadyCall): string => {
  const parsed = readArguments(call);
  if (parsed.ok) return toCanonicalText(parsed.value);
  return typeof call.rawArguments === 'string' ? call.rawArguments : toCanonicalText(call.rawArguments);
};
