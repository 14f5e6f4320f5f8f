import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { postAs, toKeyEntry } from '@recourse/test-support/access-client.ts';
import { type RunningService, startService } from '@recourse/test-support/start-service.ts';
import { defineTool } from 'recourse-server';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ToolCallsResponse } from '#src/contract/tool-result.ts';

const WHO = `
  import { defineTool } from 'recourse-server';
  export const tool = defineTool({
    name: 'who_hosted', description: '', effects: 'read', input: { type: 'object' },
    run: (_input, { tenant, caller }) => ({ tenant, caller }),
  });
`;

const who = defineTool({
  name: 'who',
  description: '',
  effects: 'read',
  input: { type: 'object' },
  run: (_input, { tenant, caller }) => ({ tenant, caller }),
});

let directory: string;
let service: RunningService;
let replica: RunningService;
let open: RunningService;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'recourse-'));
  await writeFile(join(directory, 'who.ts'), WHO);
  const keys = [toKeyEntry('acme', 'one'), toKeyEntry('acme', 'old', 'name=ci'), toKeyEntry('acme', 'new', 'name=ci')];
  const API_KEYS = [...keys, toKeyEntry('umbrella', 'other', 'name=ci')].join(',');
  service = await startService({ API_KEYS, TOOLS_DIR: directory }, [who]);
  replica = await startService({ API_KEYS }, [who]);
  open = await startService({}, [who]);
});

afterAll(async () => {
  await Promise.all([service.stop(), replica.stop(), open.stop()]);
  await rm(directory, { recursive: true });
});

const askWho = async (asked: RunningService, key: string | null, name = 'who') => {
  const { text } = await postAs(asked, key, { calls: [{ name }] });
  return ToolCallsResponse.parse(JSON.parse(text)).results[0]?.value;
};

// The first 32 hex digits of the SHA-256 of ["key","acme","<SHA-256 of the key>"] and ["key","acme","ci"].
const ONE = { tenant: 'acme', caller: 'fc956f4cc1f5b5b9b37d7b8e52e1c278' };
const CI = { tenant: 'acme', caller: '9d1ed287cf0ec5bf8a25db5837316689' };

test('a tool is told the tenant and an id of its caller, in the service and in a tool host', async () => {
  expect(await askWho(service, 'one')).toEqual(ONE);
  expect(await askWho(service, 'one', 'who_hosted')).toEqual(ONE);
  expect(await askWho(service, 'old', 'who_hosted')).toEqual(CI);
});

test('the id is the same in another replica and for a key that was made anew under its name, in its tenant alone', async () => {
  expect(await askWho(replica, 'one')).toEqual(ONE);
  expect(await askWho(replica, 'new')).toEqual(CI);
  expect(await askWho(replica, 'other')).toEqual({ tenant: 'umbrella', caller: 'a885866592ada28eadee9ce8fd094d1e' });
});

test('without keys there is neither', async () => {
  expect(await askWho(open, null)).toEqual({ tenant: null, caller: null });
});
