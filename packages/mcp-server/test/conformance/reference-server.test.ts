import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { servers } from '@recourse/test-support/mcp-servers/mcp-lab.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';

let folder: string;
let service: RunningService;
let direct: Client;
let through: Client;

const createClient = (): Client =>
  new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'legacy' } });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'recourse-conformance-'));
  const config = join(folder, 'config.json');
  await writeFile(config, JSON.stringify({ mcpServers: { reference: servers.everything() } }));
  [service, direct, through] = [
    await startService({ CONFIG_FILE: config, LOG_LEVEL: 'error' }),
    createClient(),
    createClient(),
  ];
  await Promise.all([
    direct.connect(new StdioClientTransport({ ...servers.everything(), stderr: 'ignore' })),
    through.connect(new StreamableHTTPClientTransport(new URL('/mcp', service.url))),
  ]);
});
afterAll(async () => {
  await Promise.all([direct.close(), through.close(), service.stop()]);
  await rm(folder, { recursive: true });
});

type Arguments = Readonly<Record<string, unknown>>;

/** What the tool answers, without what differs from call to call and without the annotations of its parts. */
const answerOf = async (client: Client, name: string, given: Arguments): Promise<unknown> => {
  const { content, structuredContent, isError = false } = await client.callTool({ name, arguments: { ...given } });
  const written = JSON.stringify({ content, structuredContent, isError }, toLasting);
  return JSON.parse(written.replace(/\d+:\d\d:\d\d [AP]M/g, 'now'));
};

// The server writes the time of day into its files.
const toLasting = (key: string, value: unknown): unknown => {
  if (key === 'annotations') return undefined;
  return key === 'blob' ? Buffer.from(String(value), 'base64').toString('latin1') : value;
};

const expectSame = async ([tool, given]: readonly [string, Arguments]): Promise<void> =>
  expect(await answerOf(through, `reference_${tool}`, given)).toEqual(await answerOf(direct, tool, given));

const GZIP = { name: 'a.gz', data: 'data:text/plain;base64,aGVsbG8=' } as const;

test.for<readonly [string, Arguments]>([
  ['echo', { message: 'he said "ä"\n' }],
  ['get-sum', { a: 2, b: 3 }],
  ['get-structured-content', { location: 'Chicago' }],
  ['get-tiny-image', {}],
  ['get-annotated-message', { messageType: 'error', includeImage: true }],
  ['get-resource-reference', { resourceType: 'Blob', resourceId: 2 }],
  ['gzip-file-as-resource', { ...GZIP, outputType: 'resource' }],
  ['trigger-long-running-operation', { duration: 0.1, steps: 2 }],
  ['get-resource-reference', { resourceType: 'Text', resourceId: 1 }],
  ['get-resource-links', { count: 2 }],
  ['gzip-file-as-resource', { ...GZIP, outputType: 'resourceLink' }],
])('the reference server answers through the service as it does directly: %j', expectSame);
