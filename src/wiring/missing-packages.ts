import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import * as z from 'zod';
import type { Variables } from '../config-file/expand-variables.ts';
import type { Config } from '../settings/config.ts';
import { tracingOf } from './wire-tracing.ts';

// Vendors' clients: optional peers of the package, so that only who asks for a group installs its client.
const GROUP_PACKAGES: ReadonlyMap<string, readonly string[]> = new Map([
  ['drive', ['@googleapis/drive', 'google-auth-library']],
  ['mail', ['@googleapis/gmail', 'google-auth-library']],
  ['calendar', ['@googleapis/calendar', 'google-auth-library']],
  ['slack', ['@slack/web-api']],
]);
const TRACING_PACKAGES = [
  '@opentelemetry/exporter-trace-otlp-proto',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace',
];

/** A mistake where settings ask for packages that are not installed: one sentence, which says how to install them all. */
export const findMissingPackages = (config: Config, environment: Variables): readonly string[] => {
  const groups = config.TOOL_GROUPS.filter((group) => !(GROUP_PACKAGES.get(group) ?? []).every(isInstalled));
  const isTraced = tracingOf(config, environment) === 'on' && !TRACING_PACKAGES.every(isInstalled);
  const needed = [...groups.flatMap((group) => GROUP_PACKAGES.get(group) ?? []), ...(isTraced ? TRACING_PACKAGES : [])];
  const missing = [...new Set(needed)].filter((name) => !isInstalled(name));
  if (missing.length === 0) return [];
  const settings = [
    ...(groups.length > 0 ? [`TOOL_GROUPS (${groups.join(', ')})`] : []),
    ...(isTraced ? ['OTEL_EXPORTER_OTLP_ENDPOINT'] : []),
  ];
  const needs = settings.length > 1 ? 'need' : 'needs';
  const packages = missing.length > 1 ? 'packages that are' : 'a package that is';
  return [`${settings.join(' and ')} ${needs} ${packages} not installed: run ${toCommand(missing)}`];
};

// Looked for, not resolved: `require.resolve` and `module.findPackageJSON` throw where there is none.
const isInstalled = (name: string): boolean =>
  (createRequire(import.meta.url).resolve.paths(name) ?? []).some((folder) =>
    existsSync(join(folder, name, 'package.json')),
  );

const Peers = z.object({ peerDependencies: z.record(z.string(), z.string()) });

// With the version that this service was tested with: without one, npm would take the newest, and then refuse it.
const toCommand = (names: readonly string[]): string => {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  const { peerDependencies } = Peers.parse(manifest);
  return `npm install ${names.map((name) => `${name}@${toSeries(peerDependencies[name] ?? 'latest')}`).join(' ')}`;
};

/** `^8.2.0` → `8`, `^0.301.1` → `0.301`: what a caret allows, without a sign that a shell could take for its own. */
const toSeries = (range: string): string => /^\^((?:0\.)?\d+)\./.exec(range)?.[1] ?? range;
