// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of the file are written so.
import { randomBytes } from 'node:crypto';
import { NEW_SECRET, OLD_SECRET } from '@recourse/test-support/webhook-lab.ts';
import { findFileSecrets } from '@recourse/upstreams/file-secrets';
import { createLoadConfigFile } from 'recourse-server/internal/config/file/load-config-file.ts';
import { expect, test } from 'vitest';

const loadConfigFile = await createLoadConfigFile();

const load = (webhooks: unknown, environment: Readonly<Record<string, string>> = {}) =>
  loadConfigFile({ file: 'c', text: JSON.stringify({ webhooks }), environment });

const right = { url: 'https://ops.example.com/hook', secret: NEW_SECRET, events: ['tool_call.completed'] };

const mistakesOf = (endpoint: Readonly<Record<string, unknown>>, name = 'ops'): readonly string[] => {
  const loaded = load({ [name]: endpoint });
  return loaded.ok ? [] : loaded.mistakes.map((mistake) => mistake.replace(/^CONFIG_FILE c line 1, column \d+: /, ''));
};

test('an endpoint is read, with its variables in place', () => {
  const loaded = load(
    {
      ops: {
        url: '${OPS_URL}',
        secret: ['${NEW}', '${OLD}'],
        events: ['tool_call.pending', 'tool_calls.completed'],
        tenants: ['acme'],
      },
      lab: { ...right, url: 'http://10.0.0.7:9000/', privateAddresses: 'allow' },
    },
    { OPS_URL: 'https://ops.example.com/hook?token=kx3vQ81n', NEW: NEW_SECRET, OLD: OLD_SECRET },
  );
  if (!loaded.ok) throw new Error(loaded.mistakes.join('\n'));
  expect(Object.fromEntries(loaded.content.webhooks)).toEqual({
    ops: {
      url: 'https://ops.example.com/hook?token=kx3vQ81n',
      secret: [NEW_SECRET, OLD_SECRET],
      events: ['tool_call.pending', 'tool_calls.completed'],
      privateAddresses: 'refuse',
      tenants: ['acme'],
    },
    lab: {
      url: 'http://10.0.0.7:9000/',
      secret: [NEW_SECRET],
      events: ['tool_call.completed'],
      privateAddresses: 'allow',
    },
  });
});

const whsec = (bytes: number): string => `whsec_${randomBytes(bytes).toString('base64')}`;

test.each([24, 32, 64])('a secret of %i bytes is right', (bytes) => {
  expect(mistakesOf({ ...right, secret: whsec(bytes) })).toEqual([]);
});

const SECRET_MISTAKE = 'must be whsec_ and then base64 of 24 to 64 random bytes';

test.each([
  ['too short a secret', { secret: whsec(23) }, [`webhooks.ops.secret: ${SECRET_MISTAKE}`]],
  ['too long a secret', { secret: whsec(65) }, [`webhooks.ops.secret: ${SECRET_MISTAKE}`]],
  ['a secret without its prefix', { secret: NEW_SECRET.slice(6) }, [`webhooks.ops.secret: ${SECRET_MISTAKE}`]],
  [
    'a secret of base64url',
    { secret: `whsec_${Buffer.alloc(32, 255).toString('base64url')}` },
    [`webhooks.ops.secret: ${SECRET_MISTAKE}`],
  ],
  ['one wrong secret of two', { secret: [NEW_SECRET, 'x'] }, [`webhooks.ops.secret[1]: ${SECRET_MISTAKE}`]],
  [
    'three secrets',
    { secret: [NEW_SECRET, OLD_SECRET, NEW_SECRET] },
    ['webhooks.ops.secret: must be one secret, or the new and the old one while rotating'],
  ],
  ['no secret', { secret: undefined }, ['webhooks.ops.secret: is missing']],
  [
    'http to a public address',
    { url: 'http://ops.example.com/' },
    ['webhooks.ops.url: must be an https URL: http is allowed only with privateAddresses: allow'],
  ],
  ['no URL', { url: '/hook' }, ['webhooks.ops.url: must be an absolute https URL']],
  ['another scheme', { url: 'ftp://ops.example.com/' }, ['webhooks.ops.url: must be an absolute https URL']],
  [
    'a password in the URL',
    { url: 'https://u:p@ops.example.com/' },
    ['webhooks.ops.url: must not contain a user name or password'],
  ],
  [
    'a token in the URL',
    { url: 'https://token@ops.example.com/' },
    ['webhooks.ops.url: must not contain a user name or password'],
  ],
  ['a fragment in the URL', { url: 'https://ops.example.com/#x' }, ['webhooks.ops.url: must not contain a fragment']],
  [
    'an unknown event',
    { events: ['tool_call.done'] },
    [
      'webhooks.ops.events[0]: Invalid option: expected one of "tool_call.pending"|"tool_call.approval_requested"|"tool_call.completed"|"tool_calls.completed"|"tool_call.reconciled"',
    ],
  ],
  ['no event', { events: [] }, ['webhooks.ops.events: must name at least one event']],
  ['no tenant', { tenants: [] }, ['webhooks.ops.tenants: must name at least one tenant']],
  ['an unknown member', { secrets: 'x' }, ["webhooks.ops.secrets: is unknown here: did you mean 'secret'?"]],
])('%s is a mistake in plain words', (_what, change, mistakes) => {
  expect(mistakesOf({ ...right, ...change })).toEqual(mistakes);
});

test('the name of an endpoint is short and plain', () => {
  expect(mistakesOf(right, 'ops team')).toEqual([
    "webhooks['ops team']: is not a valid name: must be 1 to 64 of A-Z a-z 0-9 _ -",
  ]);
});

test('no mistake shows a secret', () => {
  const text = mistakesOf({ ...right, secret: 'whsec_kx3vQ81n', url: 'https://a:kx3vQ81n@b/' }).join('\n');
  expect(text).not.toContain('kx3vQ81n');
});

test('secrets and the query of the URL are removed from all texts', () => {
  const { texts } = load({
    ops: { ...right, secret: [NEW_SECRET, OLD_SECRET], url: 'https://a.example.com/?sig=kx3vQ81n&v=2' },
  });
  expect(findFileSecrets(texts, () => false).map(({ value }) => value)).toEqual([
    'kx3vQ81n',
    NEW_SECRET,
    NEW_SECRET.slice(6),
    OLD_SECRET,
    OLD_SECRET.slice(6),
  ]);
});
