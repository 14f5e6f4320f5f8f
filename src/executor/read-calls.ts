import { isRecord, type JsonRecord } from '../contract/json-record.ts';
import { isLongId, MAX_ID_BYTES, MAX_NAME_LENGTH, readCallId, readCallName } from '../contract/tool-call.ts';
import type { Warning } from '../contract/tool-result.ts';
import type { Tool } from '../tools/tool.ts';
import { type Batch, Call, isReady, readArguments, toArgumentsJson } from './call.ts';
import { toFailure } from './call-outcome.ts';
import { batchLimitText, invalidCallText, notAuthorizedText, toolUnavailableText } from './failure-text.ts';
import { createWideLiterals } from './parse-arguments.ts';
import type { ResumedCall } from './pending-calls.ts';
import { createNameSuggestions, findMisnamed, type NameSuggestions } from './suggest-names.ts';

/**
 * 1 shape, 2 look up, 3 authorise: makes a call of each entry of the request, with its tool or the reason why it gets none,
 * as far as that can be told without the session. Then marks calls that repeat an earlier one.
 */
export const readCalls = (batch: Batch): undefined => {
  const { resumed } = batch.request;
  if (resumed !== undefined) {
    batch.calls = [readResumed(resumed, batch)];
    return;
  }
  const calls: Call[] = [];
  for (const entry of batch.request.calls) calls.push(readCall(entry, calls.length, batch));
  batch.calls = calls;
  markDuplicates(batch);
  releaseSource(batch);
};

const LONG_SOURCE = 65_536;

/** Releases a long text of the body once all arguments are read: they stay in memory as long as handlers run. */
const releaseSource = (batch: Batch): void => {
  const { body } = batch.request;
  if (body.source.length < LONG_SOURCE) return;
  for (const call of batch.calls) if (isReady(call)) readArguments(call);
  body.source = '';
  batch.wideLiterals = NO_LITERALS;
};

const NO_LITERALS = createWideLiterals('');

const readCall = (entry: unknown, index: number, batch: Batch): Call => {
  if (!isRecord(entry)) return refuse(new Call(batch, index, null, null), 'The call is not an object.');
  const { id: sentId, name: sentName } = entry;
  const name = readCallName(sentName);
  const call = new Call(batch, index, readCallId(sentId), name);
  if (isLongId(sentId)) return refuse(call, LONG_ID);
  if (name === null) return refuse(call, toNamelessText(entry));
  if (name !== sentName) return refuse(call, LONG_NAME);
  if (name.trim() === '') return refuse(call, 'The name of the call is blank.');
  const tool = findTool(name, batch);
  if (index >= batch.services.maxBatchCalls) return refuseOverLimit(call, tool);
  if (tool === undefined) return refuseUnserved(call, name);
  return bindTool(call, tool, entry);
};

const LONG_ID = `The id of the call is longer than ${MAX_ID_BYTES} bytes.`;
const LONG_NAME = `The name of the call is longer than ${MAX_NAME_LENGTH} characters.`;

/** A call that was read and accepted before. Its tool may have gone since, or not have come here yet. */
const readResumed = ({ spec, outcome }: ResumedCall, batch: Batch): Call => {
  const call = new Call(batch, spec.index, spec.id, spec.name);
  const tool = batch.services.registry.find(spec.tool);
  if (outcome !== null) call.end(outcome);
  if (tool === undefined) return refuseMissing(call, spec.tool);
  call.kind = 'ready';
  call.tool = tool;
  call.timeoutMs = spec.timeoutMs;
  call.rawArguments = spec.arguments;
  return call;
};

const bindTool = (call: Call, tool: Tool, entry: JsonRecord): Call => {
  const { mayUse, reading } = call.batch.request;
  if (!mayUse(tool.name)) {
    call.tool = tool;
    call.refusal = toFailure('not_authorized', notAuthorizedText(call.name ?? ''), tool);
    return call;
  }
  const longest = isBackground(tool, call.batch) ? tool.maxDurationMs : tool.timeoutMs;
  const limit = entry['timeout_ms'] ?? longest;
  if (typeof limit !== 'number' || !(limit > 0))
    return refuse(call, 'timeout_ms must be a positive number of milliseconds.');
  call.kind = 'ready';
  call.tool = tool;
  call.timeoutMs = Math.ceil(Math.min(limit, longest));
  call.rawArguments = reading === null ? entry['arguments'] : reading.readArguments(entry, tool);
  return call.rawArguments === undefined ? refuseMisnamed(call, entry) : call;
};

// A call of it may go on after its request; of some tools it does, or never runs.
const isBackground = ({ background }: Tool, batch: Batch): boolean =>
  background === 'always' || (background === 'optional' && batch.async !== null);

const toNamelessText = (entry: object): string => {
  const misnamed = findMisnamed(entry, 'name');
  return misnamed === null ? 'The call has no name.' : `The call has no 'name' but '${misnamed}'.`;
};

// A tool that needs no arguments would run without those that were sent.
const refuseMisnamed = (call: Call, entry: object): Call => {
  const misnamed = call.batch.request.form === 'calls' ? findMisnamed(entry, 'arguments') : null;
  if (misnamed === null) return call;
  call.kind = 'refused';
  return refuse(call, `The call has no 'arguments' but '${misnamed}'.`);
};

const findTool = (name: string, { request, services }: Batch): Tool | undefined =>
  request.reading === null ? services.registry.find(name) : request.reading.findTool(name);

const refuse = (call: Call, problem: string): Call => {
  call.refusal = toFailure('invalid_call', invalidCallText(problem), null);
  return call;
};

const refuseOverLimit = (call: Call, tool: Tool | undefined): Call => {
  call.tool = tool ?? null;
  call.refusal = toFailure('call_limit_exceeded', batchLimitText(call.batch.services.maxBatchCalls), null);
  return call;
};

/** A name that no serving tool has. Of a tool that the caller may not use it learns nothing, not even that there is one. */
const refuseUnserved = (call: Call, name: string): Call => {
  const { registry } = call.batch.services;
  const known = registry.findUnavailable(name);
  const shown = known !== undefined && call.batch.request.mayUse(known.facts.name) ? known : null;
  if (shown !== null && shown.withheld === undefined) return refuseMissing(call, shown.facts.name);
  const suggestions = suggestionsOf(call.batch);
  const text = shown?.withheld === undefined ? suggestions.unknown(name) : suggestions.hidden(name, shown.withheld);
  call.kind = 'unknown_tool';
  call.refusal = toFailure('unknown_tool', text, null);
  return call;
};

/** A tool that should be here and is not: no mistake of the caller. */
const refuseMissing = (call: Call, tool: string): Call => {
  call.missingTool = tool;
  call.refusal = toFailure('tool_unavailable', toolUnavailableText(call.name ?? tool), null);
  return call;
};

// One for a batch: each distinct name costs once.
const suggestionsOf = (batch: Batch): NameSuggestions => {
  batch.suggestions ??= createNameSuggestions(batch.services.registry.names, batch.request.mayUse);
  return batch.suggestions;
};

export const DUPLICATE_ID_WARNING: Warning = {
  code: 'duplicate_id',
  message: 'Another call of this batch has the same id; distinguish the results by their index.',
};

/**
 * Finds calls that say the same thing twice: same non-empty id, name and arguments, which are run once. Ids alone
 * say nothing: several models emit `call_0` for every call.
 */
const markDuplicates = (batch: Batch): void => {
  const groups = groupById(batch.calls);
  if (groups === null) return;
  batch.hasDuplicates = true;
  for (const group of groups.values()) {
    const distinct = markCopies(group);
    if (distinct > 1) for (const call of group) call.sharesId = true;
  }
};

/** Marks the copies of one id, and gives how many different calls it stands for. */
const markCopies = (group: readonly Call[]): number => {
  const originals = new Map<string | number, Call>();
  for (const call of group) {
    const content = toContent(call);
    const original = originals.get(content);
    if (original === undefined) originals.set(content, call);
    else call.original = original;
  }
  return originals.size;
};

// null where every id stands once, which is all but every batch.
const groupById = (calls: readonly Call[]): ReadonlyMap<string | number, Call[]> | null => {
  if (calls.length < 2) return null;
  const ids = new Set<string | number>();
  let identified = 0;
  for (const { id } of calls) {
    if (id === null || id === '') continue;
    identified += 1;
    ids.add(id);
  }
  if (ids.size === identified) return null;
  return Map.groupBy(
    calls.filter(({ id }) => id !== null && id !== ''),
    ({ id }) => id ?? '',
  );
};

/** What a call says, the same for calls that say the same. Arguments that cannot be read are as different as their texts. */
const toContent = (call: Call): string | number => {
  if (!isReady(call)) return call.index;
  if (readArguments(call).ok) return `${call.tool.name}\n${toArgumentsJson(call)}`;
  return typeof call.rawArguments === 'string' ? `${call.tool.name}\nnot read\n${call.rawArguments}` : call.index;
};
