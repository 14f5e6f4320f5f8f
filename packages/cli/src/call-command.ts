import { type CliContext, type ExitCode, toPlainLines, toPlainText } from 'recourse-server/cli/terminal';
import { ToolDescription } from 'recourse-server/contract/tool-description';
import { ToolCallsResponse, type ToolResult } from 'recourse-server/contract/tool-result';
import { type AddressWords, askService, findServiceAddress, type ServiceAddress } from './ask-service.ts';
import { readObject, readPairs } from './call-arguments.ts';
import { CommandFailed, createPaint, escapeForTerminal, formatRow, type Paint, WrongUse } from './command-output.ts';

/** Each as it was written on the command line. */
export type CallWords = AddressWords & {
  readonly tool: string;
  readonly pairs: readonly string[];
  readonly args?: string;
  readonly tools?: string;
  readonly session?: string;
  readonly dryRun?: boolean;
  readonly json?: boolean;
};

/** Calls one tool once and shows its result. 0 = success, or would not fail, 1 = failure, or no service to ask. */
export const runCall = async (words: CallWords, context: CliContext): Promise<ExitCode> => {
  const { args, pairs, tools, url, key, envFile } = words;
  if (args !== undefined && pairs.length > 0)
    throw new WrongUse('Pass arguments as name=value or with --args, not both.');
  if (tools !== undefined && (url !== undefined || key !== undefined))
    throw new WrongUse('--tools starts a temporary service for this call: it cannot be combined with --url or --key.');
  const loaded = context.loadEnvironment(envFile);
  if (loaded.mistake !== null) throw new WrongUse(loaded.mistake);
  if (tools === undefined) return callTool(words, findServiceAddress(words, loaded), context);
  // Only here: a service that runs already is asked without loading one.
  const { startOwnService } = await import('./own-service.ts');
  const service = await startOwnService(tools, loaded.variables);
  for (const problem of service.problems) context.terminal.writeError(`recourse: ${toPlainText(problem)}\n`);
  return callTool(words, service.address, context).finally(service.close);
};

const CATALOGUE_MS = 10_000;
// Longer than a tool may take where nothing else is set, so that the service's own answer comes first.
const CALL_MS = 330_000;

const callTool = async (words: CallWords, address: ServiceAddress, context: CliContext): Promise<ExitCode> => {
  const { tool, session, dryRun, json } = words;
  const { terminal } = context;
  const description = await askService(address, {
    path: `/tools/${encodeURIComponent(tool)}`,
    read: (answer) => ToolDescription.safeParse(answer).data ?? null,
    timeLimitMs: CATALOGUE_MS,
  }).then(({ body }) => body, orNull);
  const args = await readArguments(words, description, context);
  const { body: result } = await askService(address, {
    path: '/tool-calls',
    body: { session_id: session, dry_run: dryRun, calls: [{ id: 'call_1', name: tool, arguments: args }] },
    read: (answer) => ToolCallsResponse.safeParse(answer).data?.results[0] ?? null,
    timeLimitMs: CALL_MS,
  });
  const text =
    json === true
      ? escapeForTerminal(JSON.stringify(result, null, 2))
      : showResult(tool, result, createPaint(terminal.colors));
  terminal.write(`${text}\n`);
  return result.error === null ? 0 : 1;
};

// Of a tool that is not there the call itself says more: the nearest name, or why it is unavailable.
const orNull = (error: unknown): null => {
  if (error instanceof CommandFailed && error.status === 404) return null;
  throw error;
};

const readArguments = async (
  { args, pairs }: CallWords,
  description: ToolDescription | null,
  context: CliContext,
): Promise<Readonly<Record<string, unknown>>> => {
  if (args === undefined) return readPairs(pairs, description?.input_schema ?? null);
  return readObject(args === '-' ? await context.readInput() : args);
};

/** A result as people read it: how it ended, what the model is told, the value, whether it ran, and what is left of its retries. */
const showResult = (tool: string, result: ToolResult, paint: Paint): string => {
  const { success, error, message, executed, duration_ms: durationMs } = result;
  const ended = paint(error === null ? 'green' : 'red', describeEnd(result));
  const rows = [
    ...(message === '' ? [] : [formatRow('message', toPlainLines(message), paint)]),
    ...(result.value === null && !success ? [] : [formatRow('value', formatValue(result.value), paint)]),
    ...(result.warnings ?? []).map((warning) => formatRow('warning', toPlainText(warning.message), paint)),
    formatRow('executed', executed, paint),
    ...(result.retry === null ? [] : [formatRow('retry', describeRetry(result.retry), paint)]),
    formatRow('duration', durationMs < 10 ? `${durationMs.toFixed(1)} ms` : `${Math.round(durationMs)} ms`, paint),
  ];
  return [`${paint('bold', toPlainText(tool))}: ${ended}${formatSuffix(result)}`, ...rows].join('\n');
};

const describeEnd = (result: ToolResult): string => {
  const { success, outcome, error, empty } = result;
  if (success) return empty === true ? 'success, nothing found' : 'success';
  const ended = result.outcome === 'checked' ? `dry run, would ${result.dry_run.would}` : outcome;
  return error === null ? ended : `${ended}, ${error.code}`;
};

// What fits into a line beside its name stands in one.
const SHORT = 80;

const formatValue = (value: unknown): string => {
  if (typeof value === 'string') return toPlainLines(value);
  const line = JSON.stringify(value) ?? 'null';
  return escapeForTerminal(line.length <= SHORT ? line : JSON.stringify(value, null, 2));
};

const describeRetry = ({ allowed, remaining, limit, scope }: NonNullable<ToolResult['retry']>): string =>
  `${allowed ? 'allowed' : 'not allowed'}, ${remaining} of ${limit} left in this ${scope}`;

const formatSuffix = ({ replayed, truncated }: ToolResult): string =>
  [...(replayed === true ? [' (replayed)'] : []), ...(truncated === true ? [' (value truncated)'] : [])].join('');
