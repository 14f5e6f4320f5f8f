import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import * as z from 'zod';
import { loadConfig } from '../../src/config/settings/config.ts';
import { SETTINGS } from '../../src/config/settings/settings.ts';
import { MANIFESTS } from './read-manifests.ts';

const files = readdirSync(MANIFESTS, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.yaml'))
  .map((path) => ({ path, text: readFileSync(join(MANIFESTS, path), 'utf8') }));

const SETTING = /^( *)# ([A-Z][A-Z_]+: .+)$/gm;
const ConfigMap = z.object({ metadata: z.record(z.string(), z.unknown()), data: z.record(z.string(), z.string()) });

test('a setting that stands in a manifest as a comment is read as one once its mark is removed', () => {
  const withComments = files.filter(({ text }) => text.search(SETTING) >= 0);
  expect(withComments.map(({ path }) => path)).toEqual(['config-map.yaml']);
  for (const { path, text } of withComments) {
    const { metadata, data } = ConfigMap.parse(parse(text.replaceAll(SETTING, '$1$2')));
    expect(Object.keys(metadata), path).toEqual(['name', 'labels']);
    expect(data).toMatchObject({ TOOLS_REQUIRED: 'all' });
    const loaded = loadConfig({ ...data, REDIS_URL: 'redis://recourse-redis:6379' });
    expect('mistakes' in loaded ? loaded.mistakes : []).toEqual([]);
  }
});

test('what a comment of a manifest says that a setting is, is its default', () => {
  const said = files.flatMap(({ path, text }) =>
    [...text.matchAll(/# .*?\b([A-Z][A-Z_]+) is (\d+)/g)].map(([, name = '', value]) => ({ path, name, value })),
  );
  expect(said.length).toBeGreaterThan(0);
  const defaults = new Map<string, unknown>(Object.entries(z.object(SETTINGS).parse({})));
  for (const { path, name, value } of said)
    expect([path, name, value]).toEqual([path, name, String(defaults.get(name))]);
});
