import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onCore } from '../cores.ts';
import type { Surroundings } from '../servers.ts';

/** Where the two that listen answer. */
export type Addresses = { readonly mcp: string; readonly api: string };

// As many as there are connections, and some: nothing that is measured waits for a place.
const CONCURRENCY = 64;
const DOCUMENT = 'echo-api.json';

/** Writes a configuration file with three upstreams that offer `echo`; gives its path. The stdio server is on the load's core. */
export const writeConfig = ({ cores, directory }: Surroundings, { mcp, api }: Addresses): string => {
  const script = fileURLToPath(new URL('stdio-server.ts', import.meta.url));
  const [command, ...args] = onCore(cores.pinned ? cores.load : null, [process.execPath, script]);
  writeFileSync(join(directory, DOCUMENT), JSON.stringify(toDocument(api)));
  const path = join(directory, 'recourse.config.json');
  const config = {
    mcpServers: {
      stdio: { command, args, concurrency: CONCURRENCY },
      http: { type: 'http', url: mcp, concurrency: CONCURRENCY },
    },
    openapi: {
      openapi: {
        document: DOCUMENT,
        effects: { echo: 'read' },
        concurrency: CONCURRENCY,
        privateAddresses: 'allow',
      },
    },
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
};

const TEXT = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] };
const JSON_TEXT = { 'application/json': { schema: TEXT } };

const toDocument = (api: string): object => ({
  openapi: '3.1.0',
  info: { title: 'Echo', version: '1.0.0' },
  servers: [{ url: api }],
  paths: {
    '/echo': {
      post: {
        operationId: 'echo',
        summary: 'Returns the given text unchanged.',
        requestBody: { required: true, content: JSON_TEXT },
        responses: { 200: { description: 'The text.', content: JSON_TEXT } },
      },
    },
  },
});
