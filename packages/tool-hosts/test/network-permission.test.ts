import { once } from 'node:events';
import { createServer } from 'node:http';
import { openLab, toOutcome } from '@recourse/test-support/isolation-lab.ts';
import { loadConfig } from 'recourse-server/internal/config/settings/config.ts';
import { expect, onTestFinished, test } from 'vitest';

const VISITOR = `
  import { defineTool } from 'recourse-server';
  export const visit = defineTool({
    name: 'visit',
    description: '',
    effects: 'read',
    input: { type: 'object', properties: { url: { type: 'string' } } },
    run: ({ url }) => fetch(url).then((response) => response.status, (error) => error.cause.code),
  });
`;

/** What a tool gets from a server on loopback. */
const visit = async (permissions: readonly string[]): Promise<unknown> => {
  const server = createServer((_, response) => void response.end()).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : address}/`;
  const { call } = await openLab({ permissions }).load(VISITOR);
  return toOutcome(await call('visit', { url }));
};

test('with net in TOOLS_PERMISSIONS a tool reaches the network, on every Node', async () => {
  expect(loadConfig({ TOOLS_PERMISSIONS: 'fs-read,net' })).not.toHaveProperty('mistakes');
  expect(await visit(['fs-read', 'net'])).toBe(200);
});

test('without net a tool does not reach the network: on Node 24, which cannot prevent it, the setting is refused', async () => {
  const mistakes = Reflect.get(loadConfig({ TOOLS_PERMISSIONS: 'fs-read' }), 'mistakes');
  if (process.version.startsWith('v24.'))
    return expect(mistakes).toEqual([
      `TOOLS_PERMISSIONS omits net, but Node.js ${process.version} cannot keep tools from using the network: add net, or run Node.js 25 or newer`,
    ]);
  expect(mistakes).toBeUndefined();
  return expect(await visit(['fs-read'])).toBe('ERR_ACCESS_DENIED');
});
