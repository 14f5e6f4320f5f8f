import { createPrivateKey } from 'node:crypto';
import { constants, open, stat } from 'node:fs/promises';
import { RetryableToolError } from 'recourse-server';
import * as z from 'zod';
import type { GoogleApi } from './google-call.ts';

/** What the service signs in to Google with. `version` changes with the file. */
export type GoogleCredentials = { readonly version: string } & Readonly<
  z.output<typeof ServiceAccount> | z.output<typeof AuthorizedUser>
>;

// A key file has about 2 400 bytes.
const MOST_BYTES = 65_536;
const WHAT = "a JSON file with the key of a service account or a user's refresh token";

/**
 * A reader of the file, which is looked at with each call and read when it has changed. Rejects with a RetryableToolError that
 * names the setting and the mistake, never what the file says.
 */
export const createCredentialsFile = ({
  path,
  registerSecrets,
}: {
  /** GOOGLE_CREDENTIALS_PATH. */
  readonly path: string | undefined;
  /** Told of what is secret in the file, once, before anyone uses it. */
  readonly registerSecrets: (values: readonly string[]) => void;
}) => {
  let known: GoogleCredentials | undefined;
  const registered = new Set<string>();
  const register = (credentials: GoogleCredentials): void => {
    const fresh = findSecrets(credentials).filter((secret) => !registered.has(secret));
    for (const secret of fresh) registered.add(secret);
    if (fresh.length > 0) registerSecrets(fresh);
  };
  return async (api: GoogleApi): Promise<GoogleCredentials> => {
    if (path === undefined || path === '')
      throw new RetryableToolError(`${api.name} not configured. Set GOOGLE_CREDENTIALS_PATH to ${WHAT}.`, {
        executed: 'no',
      });
    try {
      const version = await readVersion(path);
      if (known?.version === version) return known;
      const credentials = parseCredentials(await readText(path), version);
      register(credentials);
      known = credentials;
      return credentials;
    } catch (thrown) {
      throw new RetryableToolError(
        `${api.name} not configured: the file in GOOGLE_CREDENTIALS_PATH ${explainMistake(thrown)}. A human must set it to ${WHAT}.`,
        { executed: 'no' },
      );
    }
  };
};

/**
 * What is wrong with the file, as `is not JSON`; null where it can be used, and where there is none: that is told by who
 * reads the settings.
 */
export const findCredentialsMistake = async (path: string): Promise<string | null> => {
  try {
    parseCredentials(await readText(path), '');
    return null;
  } catch (thrown) {
    const mistake = explainMistake(thrown);
    return mistake === MISSING ? null : mistake;
  }
};

/** A mistake in the file, as the end of a sentence that begins with it. */
class CredentialsMistake extends Error {
  override readonly name: string = 'CredentialsMistake';
}

const readVersion = async (path: string): Promise<string> => {
  const { ino, size, mtimeNs } = await stat(path, { bigint: true });
  return `${ino} ${size} ${mtimeNs}`;
};

const readText = async (path: string): Promise<string> => {
  // Else a pipe would keep a thread of the process until somebody writes to it.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  if (!(await file.stat()).isFile()) throw new CredentialsMistake('is not a file');
  const bytes = Buffer.alloc(MOST_BYTES + 1);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
  if (bytesRead > MOST_BYTES) throw new CredentialsMistake(`has more than ${MOST_BYTES} bytes`);
  return bytes.toString('utf8', 0, bytesRead);
};

const isPrivateKey = (pem: string): boolean => {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'rsa';
  } catch (_notAKey) {
    return false;
  }
};

const text = (name: string) =>
  z.string(`has no ${name}`).min(1, `has an empty ${name}`).max(10_000, `has too long a ${name}`);

const ServiceAccount = z
  .object({
    client_email: text('client_email'),
    private_key: text('private_key').refine(isPrivateKey, 'has a private_key that is not an RSA key in PEM format'),
  })
  .transform(({ client_email, private_key }) => ({
    ...({ type: 'service_account', clientEmail: client_email, privateKey: private_key } as const),
  }));

const AuthorizedUser = z
  .object({ client_id: text('client_id'), client_secret: text('client_secret'), refresh_token: text('refresh_token') })
  .transform(({ client_id, client_secret, refresh_token }) => ({
    ...({
      type: 'authorized_user',
      clientId: client_id,
      clientSecret: client_secret,
      refreshToken: refresh_token,
    } as const),
  }));

const ClientFile = z.union([z.object({ installed: z.looseObject({}) }), z.object({ web: z.looseObject({}) })]);
const Marks = z.object({ type: z.unknown(), private_key: z.unknown(), refresh_token: z.unknown() }).partial();

const parseCredentials = (json: string, version: string): GoogleCredentials => {
  const value = parse(json);
  if (ClientFile.safeParse(value).success)
    throw new CredentialsMistake(
      'is the file of an OAuth client (installed or web), without a refresh_token of a user: sign in with it first',
    );
  const { type, private_key: key, refresh_token: token } = Marks.safeParse(value).data ?? {};
  if (type === 'service_account' || (typeof type !== 'string' && key !== undefined))
    return { version, ...check(ServiceAccount, value) };
  if (type === 'authorized_user' || (typeof type !== 'string' && token !== undefined))
    return { version, ...check(AuthorizedUser, value) };
  throw new CredentialsMistake('is neither of type service_account nor of type authorized_user');
};

const parse = (json: string): unknown => {
  try {
    // Editors of Windows put a byte order mark before it (RFC 8259, section 8.1).
    return JSON.parse(json.replace(/^\ufeff/, ''));
  } catch (_quotesTheText) {
    throw new CredentialsMistake('is not JSON');
  }
};

const check = <Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> => {
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  throw new CredentialsMistake(checked.error.issues[0]?.message ?? 'is incomplete');
};

/** What nobody may see of credentials. */
export const findSecrets = (credentials: GoogleCredentials): readonly string[] =>
  credentials.type === 'service_account'
    ? [credentials.privateKey]
    : [credentials.clientSecret, credentials.refreshToken];

const MISSING = 'does not exist';
const FILE_MISTAKES: ReadonlyMap<string, string> = new Map([
  ['ENOENT', MISSING],
  ['ENOTDIR', MISSING],
  ['EACCES', 'is not readable by this service'],
  ['EPERM', 'is not readable by this service'],
]);

const explainMistake = (thrown: unknown): string => {
  if (thrown instanceof CredentialsMistake) return thrown.message;
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : 'unknown error';
  return FILE_MISTAKES.get(code) ?? `cannot be read (${code})`;
};
