import { CHANGED_WRONGLY, DEADLINE, serverOf, startConfigLab } from '@recourse/test-support/config-lab.ts';
import { expect, test, vi } from 'vitest';

test('a required tool of a server that is added later makes the replica ready, and the same key then runs the call', async () => {
  const { service, change } = await startConfigLab({}, { TOOLS_REQUIRED: 'far_say' });
  const ready = async (): Promise<unknown> => (await fetch(`${service.url}/ready`)).json();
  const post = async (): Promise<unknown> => {
    const answer = await fetch(`${service.url}/tool-calls`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': 'k' },
      body: JSON.stringify({ calls: [{ id: '1', name: 'far_say', arguments: {} }] }),
    });
    return answer.json();
  };
  expect(await ready()).toMatchObject({ status: 'tools_missing', missing: ['far_say'] });
  expect(await post()).toMatchObject({ results: [{ outcome: 'refused', error: { code: 'tool_unavailable' } }] });
  await change({ mcpServers: { far: serverOf('far', ['say']) } });
  await vi.waitFor(async () => expect(await ready()).toMatchObject({ status: 'ready', missing: [] }), DEADLINE);
  expect(await post()).toMatchObject({ results: [{ success: true, value: { word: 'far' } }] });
  await change({});
  expect(await ready()).toMatchObject({ status: 'degraded', missing: ['far_say'] });
});

test('a change of the file that disables a required tool is refused, and the tool goes on serving', async () => {
  const { service, change } = await startConfigLab({}, { TOOLS_REQUIRED: 'echo' });
  const refused = await change({ tools: { 'ec*': { enabled: false } } }, CHANGED_WRONGLY);
  expect(JSON.stringify(refused)).toContain("TOOLS_REQUIRED names 'echo', which the configuration file disables");
  expect(await service.call([{ name: 'echo', arguments: { text: 'hello' } }])).toMatchObject([{ success: true }]);
});
