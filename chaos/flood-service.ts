import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const FLOOD_KEY = 'key-of-the-flood';
export const OTHER_KEY = 'key-of-another-tenant';

const TOOLS = `
import { setTimeout as pause } from 'node:timers/promises';
import { defineTool } from 'recourse-server';
const input = { type: 'object', additionalProperties: true };
const run = async ({ ms }, { signal }) => ({ waited: await pause(ms, ms, { signal }) });
export default [
  defineTool({ name: 'flood_wait', description: 'Waits for an API.', effects: 'read', input, timeoutMs: 60_000, run }),
  defineTool({ name: 'flood_park', description: 'Takes long.', effects: 'read', background: 'always', input, run }),
  defineTool({
    name: 'flood_large', description: 'Gives much.', effects: 'read', input, run: ({ bytes }) => 'x'.repeat(bytes),
  }),
];
`;

/** Writes the tools of a flood into a directory, and gives the settings of a service with them and two tenants. */
export const toFloodSettings = (directory: string, heapMb: number): Readonly<Record<string, string>> => {
  writeFileSync(join(directory, 'flood.ts'), TOOLS);
  return {
    TOOLS_DIR: directory,
    API_KEYS: `flood=${hash('sha256', FLOOD_KEY)},other=${hash('sha256', OTHER_KEY)}`,
    NODE_OPTIONS: `--max-old-space-size=${heapMb}`,
  };
};

/** Posts a batch of calls that are pending for `ms`, and gives its request id. */
export const parkCalls = async (port: number, ms: number): Promise<string> => {
  const calls = Array.from({ length: 64 }, (_, at) => ({ id: `p${at}`, name: 'flood_park', arguments: { ms } }));
  const answer = await fetch(`http://127.0.0.1:${port}/tool-calls`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': FLOOD_KEY, prefer: 'respond-async, wait=0' },
    body: JSON.stringify({ calls }),
  });
  await answer.arrayBuffer();
  if (answer.status !== 202) throw new Error(`The service took no pending calls: ${answer.status}.`);
  return answer.headers.get('x-request-id') ?? '';
};
