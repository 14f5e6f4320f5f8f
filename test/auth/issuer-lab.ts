import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { onTestFinished } from 'vitest';

/** A key of an issuer, under the `kid` it is published by. */
export type IssuerKey = {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
};

export const makeIssuerKey = async (kid: string, alg = 'ES256'): Promise<IssuerKey> => {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { kid, alg, privateKey, publicKey };
};

/** The key as a key set has it. */
export const toJwk = async ({ kid, alg, publicKey }: IssuerKey): Promise<object> => ({
  ...(await exportJWK(publicKey)),
  kid,
  alg,
  use: 'sig',
});

const ISSUER = 'https://issuer.example';
const AUDIENCE = 'recourse';

const toSeconds = (ms: number): number => Math.floor(ms / 1000);

/** Claims of a token that is good for a minute; a member that is undefined is left out. */
export const toClaims = (claims: Readonly<Record<string, unknown>> = {}): JWTPayload => ({
  iss: ISSUER,
  aud: AUDIENCE,
  sub: 'agent-7',
  tenant: 'acme',
  iat: toSeconds(Date.now()),
  exp: toSeconds(Date.now()) + 60,
  scope: 'tools:call sessions:read sessions:reset',
  ...claims,
});

/** A token of these claims, signed with the key. */
export const sign = (
  key: Pick<IssuerKey, 'kid' | 'alg' | 'privateKey'>,
  claims: Readonly<Record<string, unknown>> = {},
  header: Readonly<Record<string, unknown>> = {},
): Promise<string> =>
  new SignJWT(toClaims(claims)).setProtectedHeader({ alg: key.alg, kid: key.kid, ...header }).sign(key.privateKey);

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** A token that no library would make: any header, any claims, any signature. */
export const forge = (header: unknown, claims: unknown, signature = ''): string =>
  `${encode(header)}.${encode(claims)}.${signature}`;

export type Issuer = {
  readonly url: string;
  /** How often the key set has been asked for. */
  readonly asked: () => number;
  /** Answers with these keys from now on. */
  readonly publish: (...keys: readonly IssuerKey[]) => Promise<void>;
  /** Answers by this from now on. */
  readonly answerBy: (answer: (response: ServerResponse) => void) => void;
  /** Is not there any more; its port is nobody's. */
  readonly stop: () => Promise<void>;
};

/** An issuer's key set on a loopback port, gone with its test. */
export const startIssuer = async (...keys: readonly IssuerKey[]): Promise<Issuer> => {
  let asked = 0;
  let answer = (response: ServerResponse): void => void response.writeHead(404).end();
  const server = createServer((_request, response) => {
    asked += 1;
    answer(response);
  });
  const publish = async (...published: readonly IssuerKey[]): Promise<void> => {
    const body = JSON.stringify({ keys: await Promise.all(published.map(toJwk)) });
    answer = (response) => void response.setHeader('content-type', 'application/json').end(body);
  };
  const stop = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  await publish(...keys);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(stop);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The issuer has no port.');
  return {
    url: `http://127.0.0.1:${address.port}/jwks`,
    asked: () => asked,
    publish,
    answerBy: (next) => {
      answer = next;
    },
    stop,
  };
};
