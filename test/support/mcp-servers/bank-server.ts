// A bank over MCP. argv[2]: the file of its ledger, a line of JSON for each payment. `list` answers with JSON as text, as many servers do.
import { appendFileSync, readFileSync } from 'node:fs';
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import * as z from 'zod';

const [, , ledger = ''] = process.argv;

type Payment = { readonly reference: string; readonly account: number };

const readLedger = (): readonly Payment[] =>
  readFileSync(ledger, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

const create = (): McpServer => {
  const server = new McpServer({ name: 'bank', version: '1.0.0' });
  server.registerTool(
    'pay',
    {
      description: 'Pays, and never says that it has.',
      inputSchema: z.object({ reference: z.string(), account: z.number(), lost: z.boolean() }),
      annotations: { readOnlyHint: false },
    },
    ({ lost, ...payment }) => {
      if (!lost) appendFileSync(ledger, `${JSON.stringify(payment)}\n`);
      return new Promise(() => undefined);
    },
  );
  server.registerTool(
    'list',
    {
      description: 'Lists the payments of an account with a reference.',
      inputSchema: z.object({ reference: z.string(), account: z.number() }),
      annotations: { readOnlyHint: true },
    },
    (wanted) => {
      const items = readLedger().filter((one) => one.reference === wanted.reference && one.account === wanted.account);
      return { content: [{ type: 'text', text: JSON.stringify({ items }) }] };
    },
  );
  return server;
};

serveStdio(create);
