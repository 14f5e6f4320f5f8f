import { rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { createFolder, DEADLINE, Said, startConfigLab } from '@recourse/test-support/config-lab.ts';
import { postModern } from '@recourse/test-support/mcp-clients.ts';
import { ROOT } from '@recourse/test-support/start-process.ts';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, test, vi } from 'vitest';

const FORMATS = ['openai-chat', 'openai-responses', 'anthropic', 'gemini', 'mcp'] as const;

/** What models are told of, in every form, with the tags. */
const readModelCatalogues = async (url: string) => {
  const paths = FORMATS.flatMap((format) => [`/tools?format=${format}`, `/tools?format=${format}&strict=true`]);
  const answers = [...paths, '/tools/far_say?format=anthropic'].map(async (path) => {
    const answer = await fetch(`${url}${path}`);
    return { path, status: answer.status, tag: answer.headers.get('etag'), body: await answer.text() };
  });
  const { messages } = await postModern(url, 'tools/list', {});
  return { bodies: await Promise.all(answers), listed: messages[0]?.['result'] };
};

test(
  'an outage of an MCP server changes no byte of what models are told of, and people see it',
  async () => {
    const program = join(await createFolder(), 'server.ts');
    const install = (): Promise<void> => symlink(join(ROOT, 'test/support/named-server.ts'), program);
    await install();
    const far = { command: process.execPath, args: [program, 'far', 'say', 'shout'] };
    const { service, tools } = await startConfigLab({
      mcpServers: { far },
      tools: { far_shout: { enabled: false } },
    });
    const say = async () => (await service.call([{ id: '1', name: 'far_say', arguments: {} }]))[0];
    const before = await readModelCatalogues(service.url);
    expect(JSON.stringify(before)).toContain('far_say');
    expect(JSON.stringify(before)).not.toContain('far_shout');
    const { pid } = Said.parse((await say())?.value);

    await rm(program);
    process.kill(pid, 'SIGKILL');
    await vi.waitFor(async () => expect((await tools()).get('far_say')?.available).toBe(false), DEADLINE);
    const catalogue = await tools();
    expect(catalogue.get('far_say')).toMatchObject({ unreachable: true, unavailable_reason: expect.any(String) });
    expect(catalogue.get('far_shout')).toMatchObject({ available: false });
    expect(catalogue.get('far_shout')).not.toHaveProperty('unreachable');
    expect(await readModelCatalogues(service.url)).toEqual(before);
    const known = { 'if-none-match': before.bodies[0]?.tag ?? '' };
    expect((await fetch(`${service.url}/tools?format=openai-chat`, { headers: known })).status).toBe(304);
    expect((await say())?.error).toMatchObject({ code: 'upstream_unavailable' });

    await install();
    await vi.waitFor(async () => expect((await tools()).get('far_say')?.available).toBe(true), {
      ...DEADLINE,
      timeout: timeLimit(60_000),
    });
    expect((await tools()).get('far_say')).not.toHaveProperty('unreachable');
    expect(await readModelCatalogues(service.url)).toEqual(before);
  },
  timeLimit(120_000),
);
