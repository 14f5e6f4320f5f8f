import { runInProcess } from '@recourse/test-support/run-in-process.ts';
import { createLoadConfigFile } from 'recourse-server/internal/config/file/load-config-file.ts';
import { expect, test } from 'vitest';

const loadConfigFile = await createLoadConfigFile();

test('a fresh secret stands alone on stdout, is another one each time, and is one that the configuration file takes', async () => {
  const [one, other] = [await runInProcess(['webhooks', 'secret']), await runInProcess(['webhooks', 'secret'])];
  expect(one.end).toBe(0);
  expect(one.stdout).toMatch(/^whsec_[A-Za-z0-9+/]{43}=\n$/);
  expect(one.stderr).not.toContain('whsec_');
  expect(one.stdout).not.toBe(other.stdout);
  const ops = { url: 'https://ops.example.com/', secret: one.stdout.trim(), events: ['tool_call.completed'] };
  expect(loadConfigFile({ file: 'c', text: JSON.stringify({ webhooks: { ops } }), environment: {} }).ok).toBe(true);
});

test('another word is wrong use', async () => {
  expect(await runInProcess(['webhooks', 'secrets'])).toEqual({
    end: 2,
    stdout: '',
    stderr:
      "recourse: 'secrets' is unknown here: did you mean 'secret'?\nRun recourse webhooks --help for its arguments and options.\n",
  });
});
