import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** One key for all tests of a file: making one takes a tenth of a second and more. */
const KEY_PAIR = generateKeyPairSync('rsa', { modulusLength: 2048 });

export const TEST_PRIVATE_KEY = KEY_PAIR.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
export const TEST_PUBLIC_KEY = KEY_PAIR.publicKey.export({ type: 'spki', format: 'pem' }).toString();
export const TEST_ACCOUNT = 'reader@recourse-test.iam.gserviceaccount.com';
export const TEST_CLIENT_SECRET = 'GOCSPX-4f9d2c71aa8e5b60';
export const TEST_REFRESH_TOKEN = '1//0gRefreshToken-7c1d92e4b85f3a60';

export type CredentialsKind = 'service_account' | 'authorized_user';
export const CREDENTIALS_KINDS = ['service_account', 'authorized_user'] as const satisfies readonly CredentialsKind[];

/** The content of a credentials file, as Google writes it. `changes` are put over it; undefined leaves a member out. */
export const toCredentials = (
  kind: CredentialsKind,
  changes: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> =>
  kind === 'service_account'
    ? {
        type: 'service_account',
        project_id: 'recourse-test',
        private_key_id: '0123456789abcdef',
        private_key: TEST_PRIVATE_KEY,
        client_email: TEST_ACCOUNT,
        client_id: '100000000000000000000',
        token_uri: 'https://oauth2.googleapis.com/token',
        ...changes,
      }
    : {
        type: 'authorized_user',
        client_id: '123-abc.apps.googleusercontent.com',
        client_secret: TEST_CLIENT_SECRET,
        refresh_token: TEST_REFRESH_TOKEN,
        ...changes,
      };

/** A path in a directory of its own that goes with the test. */
export const createCredentialsPath = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-google-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, 'credentials.json');
};

/** Writes such a file; gives its path. */
export const writeCredentials = (
  kind: CredentialsKind = 'service_account',
  changes: Readonly<Record<string, unknown>> = {},
): string => {
  const path = createCredentialsPath();
  writeFileSync(path, JSON.stringify(toCredentials(kind, changes)));
  return path;
};

/** What must be seen nowhere: the secrets of both kinds, each line of the key, and tokens of the stand-in. */
export const findLeaks = (text: string): readonly string[] => {
  const lines = TEST_PRIVATE_KEY.split('\n').filter((line) => line !== '' && !line.startsWith('-----'));
  const tokens = text.match(/ya29\.[\w-]+/g) ?? [];
  return [...tokens, ...[TEST_CLIENT_SECRET, TEST_REFRESH_TOKEN, ...lines].filter((secret) => text.includes(secret))];
};
