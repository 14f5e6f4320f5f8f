import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { askAs, toKeyEntry } from '@recourse/test-support/access-client.ts';
import { createFolder, DEADLINE } from '@recourse/test-support/config-lab.ts';
import { startService } from '@recourse/test-support/start-service.ts';
import { expect, onTestFinished, test } from 'vitest';
import { Overview } from '#src/contract/contract.ts';

test('a file of keys that is invalid is a warning until it is repaired', {
  timeout: 2 * DEADLINE.timeout,
}, async () => {
  const path = join(await createFolder(), 'keys.txt');
  const entry = toKeyEntry('acme', 'acme-key');
  await writeFile(path, entry);
  const service = await startService({ API_KEYS_FILE: path });
  onTestFinished(service.stop);
  const codes = async (): Promise<readonly string[]> => {
    const { text } = await askAs(service, 'acme-key', '/overview');
    return Overview.parse(JSON.parse(text)).warnings.map(({ code }) => code);
  };
  expect(await codes()).not.toContain('api_keys_stale');
  await writeFile(path, 'no line of a key');
  await expect.poll(codes, DEADLINE).toContain('api_keys_stale');
  await writeFile(path, entry);
  await expect.poll(codes, DEADLINE).not.toContain('api_keys_stale');
});
