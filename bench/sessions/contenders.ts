import { fileURLToPath } from 'node:url';
import type { CallKind, Manner } from '../bodies.ts';
import type { Server, Surroundings } from '../servers.ts';
import { startPatientService } from './patient-service.ts';
import type { RedisMemory } from './redis-memory.ts';

/** What is measured against each other. `redis` and `embedded`: a session, with the default journal. */
export const CONTENDERS = [
  'redis',
  'redis_no_session',
  'redis_no_journal',
  'embedded',
  'embedded_no_journal',
  'read_unkeyed',
  'read_keyed',
  'write_unkeyed',
  'write_keyed',
] as const;
export type ContenderName = (typeof CONTENDERS)[number];

export type Contender = {
  readonly name: ContenderName;
  readonly server: Server;
  readonly kind: CallKind;
  readonly manner: Manner;
  readonly tool: string;
  /** Emptied before each run: what keyed batches leave behind would be gigabytes in the end. null = left as it is. */
  readonly redis: RedisMemory | null;
};

const NO_JOURNAL = { SESSION_JOURNAL: '0' };

/** Sessions on Redis and on the embedded store, with a journal and without; what has another journal has another Redis. */
export const startStores = async (surroundings: Surroundings): Promise<readonly Contender[]> => {
  const { redisServers } = surroundings;
  const usual = { kind: 'succeeding', manner: 'session', tool: 'echo', redis: null } as const;
  const server = await startPatientService(surroundings, (await redisServers.start()).url);
  const other = await startPatientService(surroundings, (await redisServers.start()).url, NO_JOURNAL);
  return [
    { ...usual, name: 'redis', server },
    { ...usual, name: 'redis_no_session', server, manner: 'no_session' },
    { ...usual, name: 'redis_no_journal', server: other },
    { ...usual, name: 'embedded', server: await startPatientService(surroundings, null) },
    { ...usual, name: 'embedded_no_journal', server: await startPatientService(surroundings, null, NO_JOURNAL) },
  ];
};

const WRITE_TOOL = 'echo_write';
const TOOLS = {
  TOOLS_DIR: fileURLToPath(new URL('tools', import.meta.url)),
  TOOLS_INLINE: WRITE_TOOL,
  TOOL_HOSTS_MIN: '0',
};

/** Batches with a key of their own and without, of a read and of a write tool that do the same: one service. */
export const startKeyed = async (
  surroundings: Surroundings,
  redisUrl: string,
  redis: RedisMemory,
): Promise<readonly Contender[]> => {
  const server = await startPatientService(surroundings, redisUrl, TOOLS);
  const read = { server, kind: 'succeeding', tool: 'echo', redis } as const;
  const write = { server, kind: 'writing', tool: WRITE_TOOL, redis } as const;
  return [
    { ...read, name: 'read_unkeyed', manner: 'unkeyed' },
    { ...read, name: 'read_keyed', manner: 'keyed' },
    { ...write, name: 'write_unkeyed', manner: 'unkeyed' },
    { ...write, name: 'write_keyed', manner: 'keyed' },
  ];
};
