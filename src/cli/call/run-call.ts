import { ToolDescription } from '../../contract/tool-description.ts';
import { ToolCallsResponse } from '../../contract/tool-result.ts';
import { askService } from '../address/ask-service.ts';
import { type ServiceAddress, toServiceAddress } from '../address/service-address.ts';
import type { CliContext, CommandEnd, Variables } from '../terminal/cli-context.ts';
import { createPaint } from '../terminal/paint.ts';
import { escapeForTerminal, toPlainText } from '../terminal/plain-text.ts';
import { type Arguments, readObject, readPairs } from './read-arguments.ts';
import { showResult } from './show-result.ts';

/** Each as it was written on the command line. */
export type CallWords = {
  readonly tool: string;
  readonly pairs: readonly string[];
  readonly args?: string;
  readonly tools?: string;
  readonly url?: string;
  readonly key?: string;
  readonly session?: string;
  readonly json?: boolean;
  readonly envFile?: string;
};

/** Calls one tool once and shows its result. 0 = success, 1 = failure, or no service to ask. */
export const runCall = async (words: CallWords, context: CliContext): Promise<CommandEnd> => {
  const clash = findClash(words);
  if (clash !== null) return { wrong: clash };
  const loaded = context.loadEnvironment(words.envFile);
  if (loaded.mistake !== null) return { wrong: loaded.mistake };
  if (words.tools !== undefined) return callOwnService(words, words.tools, loaded.variables, context);
  const address = toServiceAddress(words, loaded);
  return 'wrong' in address ? address : callTool(words, address, context);
};

const findClash = ({ args, pairs, tools, url, key }: CallWords): string | null => {
  if (args !== undefined && pairs.length > 0) return 'Give arguments as name=value or with --args, not both.';
  if (tools !== undefined && (url !== undefined || key !== undefined))
    return '--tools starts a service for this call alone: leave out --url and --key, or --tools.';
  return null;
};

const callOwnService = async (
  words: CallWords,
  directory: string,
  variables: Variables,
  context: CliContext,
): Promise<CommandEnd> => {
  const { startOwnService } = await import('./own-service.ts');
  const started = await startOwnService(directory, variables);
  if ('wrong' in started) return started;
  if ('problem' in started) {
    context.terminal.writeError(`recourse: ${started.problem}\n`);
    return 1;
  }
  for (const problem of started.problems) context.terminal.writeError(`recourse: ${toPlainText(problem)}\n`);
  try {
    return await callTool(words, started.address, context);
  } finally {
    await started.close();
  }
};

const CATALOGUE_MS = 10_000;
// Longer than a tool may take where nothing else is set, so that the service's own answer comes first.
const CALL_MS = 330_000;

const callTool = async (words: CallWords, address: ServiceAddress, context: CliContext): Promise<CommandEnd> => {
  const { terminal } = context;
  const described = await askService(address, {
    path: `/tools/${encodeURIComponent(words.tool)}`,
    read: (answer) => ToolDescription.safeParse(answer).data ?? null,
    timeLimitMs: CATALOGUE_MS,
  });
  // Of a tool that is not there the call itself says more: the nearest name, or why it is unavailable.
  if (!described.ok && described.status !== 404) {
    terminal.writeError(`${described.problem}\n`);
    return 1;
  }
  const given = await readArguments(words, described.ok ? described.body.input_schema : null, context);
  if ('wrong' in given) return given;
  const call = { id: 'call_1', name: words.tool, arguments: given.arguments };
  const asked = await askService(address, {
    path: '/tool-calls',
    body: { ...(words.session === undefined ? {} : { session_id: words.session }), calls: [call] },
    read: (answer) => ToolCallsResponse.safeParse(answer).data?.results[0] ?? null,
    timeLimitMs: CALL_MS,
  });
  if (!asked.ok) {
    terminal.writeError(`${asked.problem}\n`);
    return 1;
  }
  const { body: result } = asked;
  const text =
    words.json === true
      ? escapeForTerminal(JSON.stringify(result, null, 2))
      : showResult(words.tool, result, createPaint(terminal.colors));
  terminal.write(`${text}\n`);
  return result.success ? 0 : 1;
};

const readArguments = async (
  { args, pairs }: CallWords,
  schema: Parameters<typeof readPairs>[1],
  context: CliContext,
): Promise<{ readonly arguments: Arguments } | { readonly wrong: string }> => {
  if (args === undefined) return readPairs(pairs, schema);
  return readObject(args === '-' ? await context.readInput() : args);
};
