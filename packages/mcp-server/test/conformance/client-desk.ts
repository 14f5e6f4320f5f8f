import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import * as z from 'zod';

export type ClientDesk = AsyncDisposable & {
  /** For `--command` of the suite's client mode. */
  readonly command: string;
};

const Arguments = z.record(z.string(), z.unknown());
const Scenario = z.object({
  url: z.url(),
  scenario: z.string(),
  context: z.looseObject({ toolCalls: z.array(z.object({ name: z.string(), arguments: Arguments })).optional() }),
});
type Scenario = z.infer<typeof Scenario>;
type Call = { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> };

/**
 * Plays scenarios of the suite's client mode: each with a whole service that has the scenario's server as its only
 * upstream, and is asked to call its tools by `POST /tool-calls`.
 */
export const openClientDesk = async (): Promise<ClientDesk> => {
  // One at a time: the suite starts all its clients at once, and measures when some of them are there again.
  let last: Promise<unknown> = Promise.resolve();
  const desk = createServer((request, response) => {
    const played = last.then(() => playRequest(request));
    last = played.catch(() => undefined);
    void played.then(
      (told) => response.end(told),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  desk.listen(0, '127.0.0.1');
  await once(desk, 'listening');
  const address = desk.address();
  if (address === null || typeof address === 'string') throw new Error('The desk has no port.');
  const client = `"${process.execPath}" "${join(import.meta.dirname, 'suite-client.ts')}" http://127.0.0.1:${address.port}`;
  return {
    // The service has no OAuth to play those scenarios with.
    command: `case $MCP_CONFORMANCE_SCENARIO in auth/*) exit 1 ;; esac; exec ${client}`,
    [Symbol.asyncDispose]: async () => {
      desk.close();
      desk.closeAllConnections();
      await once(desk, 'close');
    },
  };
};

const playRequest = async (request: IncomingMessage): Promise<string> => {
  const scenario = Scenario.parse(await json(request));
  const folder = await mkdtemp(join(tmpdir(), 'recourse-conformance-'));
  const path = join(folder, 'config.json');
  await writeFile(path, JSON.stringify({ mcpServers: { suite: { url: scenario.url, prefix: '' } } }));
  const service = await startService({ CONFIG_FILE: path, LOG_LEVEL: 'error' });
  try {
    return JSON.stringify(await play(service, scenario));
  } finally {
    await service.stop();
    await rm(folder, { recursive: true });
  }
};

const play = async (service: RunningService, { context }: Scenario): Promise<readonly unknown[]> => {
  const answers: unknown[] = [];
  for (const call of context.toolCalls ?? (await toCalls(service))) answers.push(await postCall(service, call));
  return answers;
};

/** As a model of OpenAI sends it, null for an argument that is left out included. */
const postCall = async ({ url }: RunningService, { name, arguments: given }: Call): Promise<unknown> => {
  const call = { id: 'call_1', type: 'function', function: { name, arguments: JSON.stringify(given) } };
  const answer = await fetch(`${url}/tool-calls?format=openai-chat`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ role: 'assistant', content: null, tool_calls: [call] }),
  });
  return answer.json();
};

const Catalogue = z.object({
  tools: z.array(
    z.object({ name: z.string(), source: z.string(), available: z.boolean(), input_schema: z.looseObject({}) }),
  ),
});
type Tool = z.infer<typeof Catalogue>['tools'][number];

/** A call of each tool that the scenario's server offers. */
const toCalls = async ({ url }: RunningService): Promise<readonly Call[]> => {
  const { tools } = Catalogue.parse(await (await fetch(`${url}/tools`)).json());
  const offered = tools.filter(({ source, available }) => source === 'mcp:suite' && available);
  return offered.map((tool) => ({ name: tool.name, arguments: toArguments(tool, offered) }));
};

const Properties = z.record(z.string(), z.looseObject({ type: z.string().optional() }));

const toArguments = ({ input_schema }: Tool, tools: readonly Tool[]): Call['arguments'] => {
  const properties = Properties.safeParse(input_schema['properties']);
  const entries = Object.entries(properties.data ?? {});
  return Object.fromEntries(entries.map(([name, { type }]) => [name, toArgument(name, type, tools)]));
};

const toArgument = (name: string, type: string | undefined, tools: readonly Tool[]): unknown => {
  // One scenario wants back the schema of another tool, as its client has it.
  if (name === 'schema') return tools.find((tool) => tool.name === 'json_schema_2020_12_tool')?.input_schema;
  return type === undefined ? 'text' : (SAMPLES[type] ?? 'text');
};

const SAMPLES: Readonly<Record<string, unknown>> = {
  number: 1,
  integer: 1,
  boolean: true,
  array: [],
  object: {},
  null: null,
};
