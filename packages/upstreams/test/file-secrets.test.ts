// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of the file are written so.

import { createLoadConfigFile } from 'recourse-server/internal/config/file/load-config-file.ts';
import { createRedactor } from 'recourse-server/internal/redaction/service-redactor.ts';
import { expect, test } from 'vitest';
import { findFileSecrets } from '#src/file-secrets.ts';

const loadConfigFile = await createLoadConfigFile();

const isSecretName = (name: string): boolean => /_(TOKEN|KEY|SECRET|PASSWORD)$/.test(name);

const secretsOf = (content: unknown, environment: Readonly<Record<string, string>> = {}) =>
  findFileSecrets(loadConfigFile({ file: 'c', text: JSON.stringify(content), environment }).texts, isSecretName).map(
    ({ value }) => value,
  );

const server = (more: Readonly<Record<string, unknown>>) => ({ mcpServers: { a: { command: 'x', ...more } } });
const remote = (more: Readonly<Record<string, unknown>>) => ({
  mcpServers: { a: { url: 'https://a.example.com/mcp', ...more } },
});
const api = (auth: unknown) => ({ openapi: { a: { document: 'a.json', auth } } });

test.each([
  ['a header', remote({ headers: { 'X-Session': 'kx3vQ81n' } }), ['kx3vQ81n']],
  [
    'a credential with its scheme',
    remote({ headers: { Authorization: 'Bearer kx3vQ81n' } }),
    ['Bearer kx3vQ81n', 'kx3vQ81n'],
  ],
  ['a token of an import', api({ type: 'bearer', token: 'kx3vQ81n' }), ['kx3vQ81n']],
  ['a key of an import', api({ type: 'apiKey', in: 'header', name: 'X-Api-Key', value: 'kx3vQ81n' }), ['kx3vQ81n']],
  ['a password', api({ type: 'basic', username: 'svc-billing', password: 'kx3vQ81n' }), ['svc-billing', 'kx3vQ81n']],
  ['headers of an import', api({ type: 'headers', headers: { 'X-Key': 'kx3vQ81n' } }), ['kx3vQ81n']],
  ['a variable whose name says so', server({ env: { GITHUB_TOKEN: 'production' } }), ['production']],
  ['a credential in a variable', server({ env: { AUTH_HEADER: 'Bearer kx3vQ81n' } }), ['Bearer kx3vQ81n', 'kx3vQ81n']],
  ['a password in an address', server({ env: { DATABASE_URL: 'postgres://u:kx3vQ81n@db/x' } }), ['kx3vQ81n']],
  ['a key in an address', remote({ url: 'https://a.example.com/mcp?api_key=kx3vQ81n&page=1' }), ['kx3vQ81n']],
  ['what follows an argument', server({ args: ['--api-key', 'kx3vQ81n', '--verbose'] }), ['kx3vQ81n']],
  ['what stands in an argument', server({ args: ['--token=kx3vQ81n'] }), ['kx3vQ81n']],
  [
    'a header after an argument',
    server({ args: ['--header', 'Authorization: Bearer kx3vQ81n'] }),
    ['Bearer kx3vQ81n', 'kx3vQ81n'],
  ],
  [
    'a header in one argument with its name',
    server({ args: ['--header=Authorization: Bearer kx3vQ81n'] }),
    ['Bearer kx3vQ81n', 'kx3vQ81n'],
  ],
  ['a header without a space', server({ args: ['--header', 'X-Auth:kx3vQ81n'] }), ['kx3vQ81n']],
  ['a header that is a word', server({ args: ['-H', 'X-Auth: production'] }), ['production']],
  ['a header joined with -H', server({ args: ['-HX-Auth: kx3vQ81n'] }), ['kx3vQ81n']],
  ['a header alone', server({ args: ['X-Auth: kx3vQ81n'] }), ['kx3vQ81n']],
  ['a variable for a container', server({ args: ['run', '-e', 'GITHUB_TOKEN=kx3vQ81n', 'image'] }), ['kx3vQ81n']],
  ['a variable that is a word', server({ args: ['-e', 'GITHUB_TOKEN=production'] }), ['production']],
  ['a variable joined with --env', server({ args: ['--env=GITHUB_TOKEN=kx3vQ81n'] }), ['kx3vQ81n']],
  ['a variable joined with -e', server({ args: ['-eGITHUB_TOKEN=kx3vQ81n'] }), ['kx3vQ81n']],
  ['a property of Java', server({ args: ['-Dservice.password=kx3vQ81n'] }), ['kx3vQ81n']],
  ['a credential with its scheme anywhere', server({ args: ['--with=Bearer kx3vQ81n'] }), ['kx3vQ81n']],
])('%s is secret', (_what, content, secrets) => {
  expect(secretsOf(content)).toEqual(secrets);
});

test.each([
  [
    'words and addresses of an env',
    server({ env: { NODE_ENV: 'production', API_URL: 'https://api.example.com/v1', DEBUG: 'true' } }),
  ],
  [
    'headers that say what is wanted',
    remote({ headers: { Accept: 'application/json', 'X-Api-Version': '2024-11-05' } }),
  ],
  ['words of an auth', api({ type: 'apiKey', in: 'header', name: 'X-Api-Key', value: 'true' })],
  ['a path after an argument', server({ args: ['--key-file', '/etc/keys/one.pem', '--token'] })],
  [
    'arguments with an equals sign or a colon',
    server({
      args: [
        ...['-e', 'NODE_ENV=production', '--env=LOG_LEVEL=debug', '--sort_key=name', '-e', 'GITHUB_TOKEN', '-v'],
        ...['/data:/data:ro', 'node:20-alpine', 'ghcr.io/a/b:1.2', 'C:\\tools', '--header', 'Accept: text/html'],
        ...['--header', 'X-Api-Version: 2024-11-05', '--listen=localhost:8080', 'basic auth', '-p', '8080:80'],
      ],
    }),
  ],
  ['a command and its arguments', server({ args: ['-y', '@modelcontextprotocol/server-filesystem', '/home/me'] })],
])('%s are no secrets', (_what, content) => {
  expect(secretsOf(content)).toEqual([]);
});

test('a variable is secret wherever it stands, unless its value is plain', () => {
  const environment = {
    PAT: 'ghx3vQ81n',
    DIR: '/home/me/project',
    STAGE: 'eu-central-1',
    API: 'https://api.example.com/v1',
    HOST: 'api.example.com:8443',
    DEPLOY_KEY: 'production',
  };
  const args = ['${PAT}', '${DIR}', '${STAGE}', '${API}', 'x-${HOST}', '${DEPLOY_KEY}'];
  expect(secretsOf(server({ args }), environment)).toEqual(['ghx3vQ81n', 'production']);
});

test('secrets of a file with mistakes are found as well: what is said of them may show them', () => {
  expect(secretsOf({ ...remote({ headers: { 'X-Session': 'kx3vQ81n' } }), oops: 1 })).toEqual(['kx3vQ81n']);
});

test('a redactor takes more values later, and those before stay', () => {
  const redactor = createRedactor({ secrets: ['kx3vQ81nUzT5'] });
  const text = 'one kx3vQ81nUzT5, two hz7wR42pYbL9, two in JSON \\"hz7wR42pYbL9\\"';
  expect(redactor.cutToolText(text, Number.POSITIVE_INFINITY, 'result')).toContain('hz7wR42pYbL9');
  redactor.register(['hz7wR42pYbL9']);
  expect(redactor.cutToolText(text, Number.POSITIVE_INFINITY, 'result')).toBe(
    'one [redacted], two [redacted], two in JSON \\"[redacted]\\"',
  );
  expect(redactor.value('{"a":"hz7wR42pYbL9"}', 'result')).toBe('{"a":"[redacted]"}');
});

test('a redactor that began with none takes some', () => {
  const redactor = createRedactor({ secrets: [] });
  expect(redactor.value('"hz7wR42pYbL9"', 'result')).toBe('"hz7wR42pYbL9"');
  redactor.register(['hz7wR42pYbL9', 'short']);
  expect(redactor.value('"hz7wR42pYbL9 short"', 'result')).toBe('"[redacted] short"');
});
