import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { readManifest } from '../files/own-package.ts';
import type { Variables } from './file/expand-variables.ts';
import { type Config, isTraced } from './settings/config.ts';

const TRACING_PACKAGES = [
  '@opentelemetry/exporter-trace-otlp-proto',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace',
];

/** A mistake where settings ask for packages that are not installed: one sentence, which says how to install them all. */
export const findMissingPackages = (config: Config, environment: Variables): readonly string[] => {
  // Vendors' clients are optional peers of the package, so that only who asks for a group installs its client.
  const packagesOf = (group: string): readonly string[] => config.extensions.groups.get(group)?.packages ?? [];
  const groups = config.TOOL_GROUPS.filter((group) => !packagesOf(group).every(isInstalled));
  const lacksTracing = isTraced(config, environment) && !TRACING_PACKAGES.every(isInstalled);
  const needed = [...groups.flatMap(packagesOf), ...(lacksTracing ? TRACING_PACKAGES : [])];
  const missing = [...new Set(needed)].filter((name) => !isInstalled(name));
  if (missing.length === 0) return [];
  const settings = [
    ...(groups.length > 0 ? [`TOOL_GROUPS (${groups.join(', ')})`] : []),
    ...(lacksTracing ? ['OTEL_EXPORTER_OTLP_ENDPOINT'] : []),
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

// With the version that this service was tested with: without one, npm would take the newest, and then refuse it.
const toCommand = (names: readonly string[]): string => {
  const { peerDependencies } = readManifest();
  return `npm install ${names.map((name) => `${name}@${toSeries(peerDependencies[name] ?? 'latest')}`).join(' ')}`;
};

/** `^8.2.0` → `8`, `^0.301.1` → `0.301`: what a caret allows, without a sign that a shell could take for its own. */
const toSeries = (range: string): string => /^\^((?:0\.)?\d+)\./.exec(range)?.[1] ?? range;
