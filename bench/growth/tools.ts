import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Part } from '../part.ts';
import { type Server, startService } from '../servers.ts';
import { startListening } from '../start-listening.ts';
import { waitForTools } from '../upstream/check-echo.ts';
import { type FilledServer, type GrowthRow, measureFilled } from './growth-row.ts';

const COUNTS = [1, 100, 2000, 10_000] as const;
// One import serves no more.
const MOST_OPERATIONS = 5000;

/** Tools of OpenAPI imports beside the built-in ones. */
export const measureTools = async (part: Part): Promise<GrowthRow> => {
  const filled: FilledServer[] = [];
  for (const count of COUNTS) filled.push({ count, server: await startWithTools(part, count) });
  return measureFilled(part, 'registered tools', filled);
};

/** A service with so many imported tools beside the built-in ones; resolves when all are there. */
export const startWithTools = async ({ surroundings }: Part, count: number): Promise<Server> => {
  const directory = join(surroundings.directory, `tools-${count}`);
  mkdirSync(directory, { recursive: true });
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
