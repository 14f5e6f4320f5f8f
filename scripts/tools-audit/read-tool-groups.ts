import { pino } from 'pino';
import { loadConfig } from '../../src/settings/config.ts';
import type { ToolFacts } from '../../src/tools/tool.ts';
import type { ToolGroup } from '../../src/tools/tool-family.ts';
import { wireBuiltin } from '../../src/wiring/wire-builtin.ts';
import { wireRedaction } from '../../src/wiring/wire-redaction.ts';

/** `own`: what every service has. */
export type AuditGroup = 'own' | ToolGroup;

const OPTIONAL_GROUPS = [
  'notes',
  'shell',
  'drive',
  'mail',
  'calendar',
  'slack',
] as const satisfies readonly ToolGroup[];

/** What the service's own tools say of themselves, by group, with nothing set up: the same on every machine. */
export const readToolGroups = async (): Promise<ReadonlyMap<AuditGroup, readonly ToolFacts[]>> => {
  const own = await readFacts([]);
  const names = new Set(own.map(({ name }) => name));
  const groups = new Map<AuditGroup, readonly ToolFacts[]>([['own', own]]);
  for (const group of OPTIONAL_GROUPS)
    groups.set(
      group,
      (await readFacts([group])).filter(({ name }) => !names.has(name)),
    );
  return groups;
};

const readFacts = async (groups: readonly ToolGroup[]): Promise<readonly ToolFacts[]> => {
  // A machine with a sandbox must not say more than one without: no shell is tried out here.
  const settings = { TOOL_GROUPS: groups.join(','), SHELL_BWRAP_PATH: '/nowhere/bwrap' };
  const loaded = loadConfig(settings);
  if ('mistakes' in loaded) throw new Error(loaded.mistakes.join('\n'));
  const { tools, unavailable, close } = await wireBuiltin(loaded.config, {
    version: '0.0.0',
    log: pino({ level: 'silent' }),
    redaction: wireRedaction(loaded.config, settings),
    pageTokens: { find: async () => null, keep: async () => undefined },
  });
  await close();
  return [...tools, ...unavailable.map(({ facts }) => facts)];
};
