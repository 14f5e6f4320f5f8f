import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { measureLanes } from '../measure-lanes.ts';
import type { Part } from '../part.ts';
import { type Server, startService } from '../servers.ts';
import { startListening } from '../start-listening.ts';
import { MAX_UNKNOWN_TIMES } from '../targets.ts';
import { toVerdict } from '../to-table.ts';
import { waitForTools } from '../upstream/check-echo.ts';
import { type FilledServer, type GrowthRow, measureFilled } from './growth-row.ts';

const COUNTS = [1, 100, 2000, 10_000] as const;
// One import serves no more.
const MOST_OPERATIONS = 5000;

/** Tools of OpenAPI imports beside the built-in ones: what `echo` costs then, and a name that no tool has. */
export const measureTools = async (part: Part): Promise<readonly GrowthRow[]> => {
  const filled: FilledServer[] = [];
  for (const count of COUNTS) filled.push({ count, server: await startWithTools(part, count) });
  const unknown = await measureUnknown(part, filled);
  const known = await measureFilled(part, 'registered tools', filled);
  return [known, ...unknown];
};

const measureUnknown = async (part: Part, filled: readonly FilledServer[]): Promise<readonly GrowthRow[]> => {
  const rows: GrowthRow[] = [];
  const ofNew: number[] = [];
  for (const { count, server } of filled) {
    const [known, again, anew] = await measureLanes(part, [
      { title: `echo beside ${count} tools`, server, load: { calls: 1 } },
      { title: `an unknown name beside ${count} tools`, server, load: { calls: 1, kind: 'unknown' } },
      { title: `a new unknown name beside ${count} tools`, server, load: { calls: 1, kind: 'unknown_new' } },
    ]);
    if (known === undefined || again === undefined || anew === undefined) throw new Error('A lane was not measured.');
    const what = `an unknown name again to echo, beside ${count} tools`;
    rows.push(toUnknownRow(what, [], [known.micros, again.micros]));
    ofNew.push(anew.micros);
  }
  // Not to `echo`: each has a line of the log of its own.
  return [...rows, toUnknownRow('a new unknown name, beside tools', COUNTS, ofNew)];
};

const toUnknownRow = (what: string, counts: readonly number[], micros: readonly number[]): GrowthRow => {
  const times = (micros.at(-1) ?? Number.NaN) / (micros[0] ?? Number.NaN);
  const verdict = toVerdict(times <= MAX_UNKNOWN_TIMES);
  return { what, counts, micros, times, target: `≤ ${MAX_UNKNOWN_TIMES.toFixed(2)} ×`, verdict };
};

const startWithTools = async ({ surroundings }: Part, count: number): Promise<Server> => {
  const directory = join(surroundings.directory, `tools-${count}`);
  mkdirSync(directory);
  const imports = Array.from({ length: Math.ceil(count / MOST_OPERATIONS) }, (_, index) => `api${index}`);
  for (const [index, name] of imports.entries()) {
    const operations = Math.min(MOST_OPERATIONS, count - index * MOST_OPERATIONS);
    writeFileSync(join(directory, `${name}.json`), JSON.stringify(toDocument(operations)));
  }
  const openapi = Object.fromEntries(imports.map((name) => [name, { document: `${name}.json` }]));
  const config = join(directory, 'recourse.config.json');
  writeFileSync(config, JSON.stringify({ openapi }));
  const server = await startService(surroundings, { settings: { CONFIG_FILE: config } });
  await waitForTools(server.url, [`${imports.at(-1)}_get_invoice_${(count - 1) % MOST_OPERATIONS}`]);
  return server;
};

const toDocument = (operations: number): object => ({
  openapi: '3.1.0',
  info: { title: 'Invoices', version: '1.0.0' },
  servers: [{ url: 'https://invoices.example.com' }],
  paths: Object.fromEntries(
    Array.from({ length: operations }, (_, index) => [
      `/invoices-${index}`,
      {
        get: {
          operationId: `get_invoice_${index}`,
          summary: `Reads an invoice of the year ${index}.`,
          parameters: [{ name: 'number', in: 'query', schema: { type: 'integer' } }],
          responses: { 200: { description: 'The invoice.' } },
        },
      },
    ]),
  ),
});

const MCP_COUNTS = [1, 10, 100] as const;

/** MCP servers, each with a connection of its own; all are one process, for ten thousand processes fit on no machine. */
export const measureUpstreams = async (part: Part): Promise<GrowthRow> => {
  const { surroundings } = part;
  const mcp = await startListening(surroundings, { script: 'mcp/sdk-server.ts', place: 'load', path: '/mcp' });
  const filled: FilledServer[] = [];
  for (const count of MCP_COUNTS) {
    const names = Array.from({ length: count }, (_, index) => `up${index}`);
    const config = join(surroundings.directory, `upstreams-${count}.json`);
    const mcpServers = Object.fromEntries(names.map((name) => [name, { type: 'http', url: mcp.url }]));
    writeFileSync(config, JSON.stringify({ mcpServers }));
    const server = await startService(surroundings, { settings: { CONFIG_FILE: config } });
    await waitForTools(
      server.url,
      names.map((name) => `${name}_echo`),
    );
    filled.push({ count, server });
  }
  const row = await measureFilled(part, 'MCP servers', filled);
  await mcp.process.end();
  return row;
};
