import { writeFileSync } from 'node:fs';
import {
  createCredentialsPath,
  findLeaks,
  TEST_CLIENT_SECRET,
  writeCredentials,
} from '@recourse/test-support/google/google-credentials.ts';
import { expect, test } from 'vitest';
import { createGoogle } from '#src/google-tools.ts';

const linesOf = async (credentialsPath: string | undefined): Promise<readonly string[]> => {
  const lines: string[] = [];
  const tell = (fields: object, message: string) => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const family = createGoogle({
    credentialsPath,
    subject: undefined,
    apiUrl: undefined,
    groups: new Set(['drive']),
    pageTokens: { find: async () => null, keep: async () => undefined },
    registerSecrets: () => undefined,
    log: { info: tell, warn: tell, error: tell },
  });
  await family.close();
  return lines;
};

const write = (content: string): string => {
  const path = createCredentialsPath();
  writeFileSync(path, content);
  return path;
};

const WARNED = 'tool group is not configured: its calls will fail {"setting":"GOOGLE_CREDENTIALS_PATH","mistake":';

test.each([
  [
    'that of an OAuth client',
    JSON.stringify({ installed: { client_id: 'a', client_secret: TEST_CLIENT_SECRET } }),
    `${WARNED}"the file is the file of an OAuth client (installed or web), without a refresh_token of a user: sign in with it first"}`,
  ],
  ['no JSON', TEST_CLIENT_SECRET, `${WARNED}"the file is not JSON"}`],
])('a credentials file that is %s is warned of at once', async (_what, content, line) => {
  const lines = await linesOf(write(content));
  expect(lines).toEqual([line]);
  expect(findLeaks(lines.join())).toEqual([]);
});

test('one that can be used, or is not there, is not', async () => {
  for (const path of [writeCredentials(), createCredentialsPath(), '', undefined])
    expect(await linesOf(path)).toEqual([]);
});
