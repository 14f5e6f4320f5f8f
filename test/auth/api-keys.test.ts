import { hash } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { timeLimit } from '@recourse/test-support/time-limit.ts';
import { expect, onTestFinished, test } from 'vitest';
import { type ApiKeysOptions, createApiKeys, loadKeyFile, type Reload } from '#src/auth/api-keys.ts';
import { createAuthenticate } from '#src/auth/callers.ts';
import { createNewsCheck } from '#src/files/watch-file.ts';

const lineOf = (tenant: string, key: string, attributes = ''): string =>
  `${tenant}=${hash('sha256', key)} ${attributes}`;

const makeDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'recourse-keys-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
};

type Started = Partial<Omit<ApiKeysOptions, 'file'>> & { readonly file?: string };

const start = ({ file, ...options }: Started) => {
  const reloads: Reload[] = [];
  const keys = createApiKeys({
    entries: [],
    file: file === undefined ? null : loadKeyFile(file),
    onReload: (reload) => void reloads.push(reload),
    time: () => 0,
    pollMs: 5,
    ...options,
  });
  onTestFinished(keys.close);
  const authenticate = createAuthenticate(keys, null);
  const answer = (key?: string): string => {
    const found = authenticate(key);
    if (found instanceof Promise) return 'later';
    if (found.kind === 'known') return found.caller.tenant;
    return found.kind === 'refused' ? found.reason : found.kind;
  };
  return { keys, answer, reloads };
};

const RELOADED = { timeout: timeLimit(15_000), interval: 5 };

test('a key is found wherever it stands among others, and nothing else is', () => {
  const entries = Array.from({ length: 50 }, (_, place) => lineOf(`tenant-${place}`, `key-${place}`));
  const { answer, keys } = start({ entries });
  expect(keys.count()).toBe(50);
  expect(['key-0', 'key-25', 'key-49'].map(answer)).toEqual(['tenant-0', 'tenant-25', 'tenant-49']);
  expect(['key-50', 'key-', 'KEY-0', 'key-0 ', hash('sha256', 'key-0'), entries[0]].map(answer)).toEqual(
    Array(6).fill('unknown'),
  );
  expect([answer(undefined), answer('')]).toEqual(['missing', 'missing']);
});

test('the hash of nothing is the key of nobody', () => {
  const { answer } = start({ entries: [lineOf('acme', '')] });
  expect([answer(undefined), answer('')]).toEqual(['missing', 'missing']);
});

test('an expiry is looked at for every request', () => {
  const clock = { ms: Date.parse('2027-06-29T23:59:59.999Z') };
  const { answer, keys } = start({ entries: [lineOf('acme', 'k', 'expires=2027-06-30')], time: () => clock.ms });
  expect(answer('k')).toBe('acme');
  clock.ms += 1;
  expect(answer('k')).toBe('expired');
  expect(answer('x')).toBe('unknown');
  expect(keys.count()).toBe(1);
});

test('a file without a key in it lets nobody in', () => {
  const file = join(makeDirectory(), 'keys');
  writeFileSync(file, '# none yet\n');
  const { answer } = start({ file });
  expect([answer(undefined), answer('k')]).toEqual(['missing', 'unknown']);
});

test('keys that are not right are refused at once, with every mistake', () => {
  const file = join(makeDirectory(), 'keys');
  writeFileSync(file, `${lineOf('acme', 'k')}\nsecret\n${lineOf('acme', 'k')}\n`);
  const pair =
    'must be tenant=SHA-256, the hash of a key in 64 hex digits, for example acme=5e88…; `recourse key` creates one';
  expect(() => start({ file })).toThrow(
    new Error(`API_KEYS_FILE ${file}: line 2 ${pair}; line 3 repeats the key of line 1; remove one.`),
  );
  expect(() => start({ file: `${file}-not` })).toThrow('ENOENT');
  expect(() => start({ entries: ['x'] })).toThrow(new Error(`API_KEYS: entry 1 of API_KEYS ${pair}.`));
});

// How operators change a file: editors write or rename, Kubernetes moves a link, `cp -p` keeps the time.
const CHANGES: readonly (readonly [string, (file: string, text: string) => void])[] = [
  ['written to', writeFileSync],
  [
    'renamed over',
    (file, text) => {
      writeFileSync(`${file}.new`, text);
      renameSync(`${file}.new`, file);
    },
  ],
  [
    'written to in the same second, with the same length and time stamp',
    (file, text) => {
      writeFileSync(file, text);
      utimesSync(file, 1, 1);
    },
  ],
];

test.for(CHANGES)(
  'a key that is taken out of a file which is %s is refused, and a new one let in',
  async ([, change]) => {
    const file = join(makeDirectory(), 'keys');
    writeFileSync(file, lineOf('acme', 'old'));
    utimesSync(file, 1, 1);
    const { answer, reloads, keys } = start({ file, entries: [lineOf('fixed', 'other')] });
    change(file, lineOf('acme', 'new'));
    await expect.poll(() => answer('new'), RELOADED).toBe('acme');
    expect([answer('old'), answer('other'), keys.count()]).toEqual(['unknown', 'fixed', 2]);
    expect(reloads).toEqual([{ result: 'taken', keys: 2 }]);
  },
);

test('a link that is moved to another directory is followed, as Kubernetes moves it', async () => {
  const directory = makeDirectory();
  const publish = (version: string, text: string): void => {
    const place = mkdtempSync(join(directory, `..${version}-`));
    writeFileSync(join(place, 'keys'), text);
    symlinkSync(place, join(directory, '..data_tmp'));
    renameSync(join(directory, '..data_tmp'), join(directory, '..data'));
  };
  publish('1', lineOf('acme', 'old'));
  symlinkSync(join('..data', 'keys'), join(directory, 'keys'));
  const { answer } = start({ file: join(directory, 'keys') });
  expect(answer('old')).toBe('acme');
  publish('2', lineOf('acme', 'new'));
  await expect.poll(() => answer('new'), RELOADED).toBe('acme');
  expect(answer('old')).toBe('unknown');
});

test('a change with mistakes keeps the keys from before, and is told once with its lines', async () => {
  const file = join(makeDirectory(), 'keys');
  writeFileSync(file, lineOf('acme', 'old'));
  const { answer, reloads } = start({ file });
  writeFileSync(file, `${lineOf('acme', 'new')}\n${lineOf('beta', 'b', 'may=everything')}\n`);
  const mistakes = [
    'line 2 has an invalid may=; separate call, read, reset, operate and approve by |, each at most once',
  ];
  await expect.poll(() => reloads, RELOADED).toEqual([{ result: 'refused', mistakes }]);
  expect([answer('old'), answer('new')]).toEqual(['acme', 'unknown']);
  rmSync(file);
  await expect.poll(() => reloads.length, RELOADED).toBe(2);
  expect(reloads[1]).toEqual({
    result: 'refused',
    mistakes: [`ENOENT: no such file or directory, open '${file}'`],
  });
  expect(answer('old')).toBe('acme');
  writeFileSync(file, lineOf('acme', 'new'));
  await expect.poll(() => answer('new'), RELOADED).toBe('acme');
  expect([answer('old'), reloads.length]).toEqual(['unknown', 3]);
});

test('a file that is emptied revokes every key in it', async () => {
  const file = join(makeDirectory(), 'keys');
  writeFileSync(file, lineOf('acme', 'old'));
  const { answer, reloads } = start({ file });
  writeFileSync(file, '');
  await expect.poll(() => reloads, RELOADED).toEqual([{ result: 'taken', keys: 0 }]);
  expect([answer('old'), answer(undefined)]).toEqual(['unknown', 'missing']);
});

test('after it is closed the file is followed no longer', async () => {
  const file = join(makeDirectory(), 'keys');
  writeFileSync(file, lineOf('acme', 'old'));
  const closed = start({ file });
  const open = start({ file });
  closed.keys.close();
  writeFileSync(file, lineOf('acme', 'new'));
  await expect.poll(() => open.answer('new'), RELOADED).toBe('acme');
  expect([closed.answer('old'), closed.reloads.length]).toEqual(['acme', 0]);
});

test('a reading that the next one does not bear out is no change: the file is being written', () => {
  const isNews = createNewsCheck('old');
  const readings = ['old', '', 'half', 'new', 'new', 'new', 'other', 'new', 'other', 'other'];
  expect(readings.map((text) => isNews({ ok: true, text }))).toEqual(
    readings.map((_, place) => place === 4 || place === 9),
  );
  const gone = { ok: false, problem: 'ENOENT' } as const;
  expect([isNews(gone), isNews({ ok: true, text: 'other' }), isNews(gone), isNews(gone)]).toEqual([
    false,
    false,
    false,
    true,
  ]);
});
