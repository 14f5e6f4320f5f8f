import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toApiKey } from '../bodies.ts';
import type { Part } from '../part.ts';
import { startService } from '../servers.ts';
import { type FilledServer, type GrowthRow, measureFilled, REQUESTS } from './growth-row.ts';

const COUNTS = [1, 100, 10_000] as const;

/** API keys of one tenant, all of them in use in turn. */
export const measureApiKeys = (part: Part): Promise<GrowthRow> =>
  measureKeyFiles(part, 'API keys of one tenant, in use in turn', () => 't');

/** Tenants with one key each, all of them in use in turn. */
export const measureTenants = (part: Part): Promise<GrowthRow> =>
  measureKeyFiles(part, 'tenants, in use in turn', (key) => `t${key}`);

const measureKeyFiles = async (part: Part, what: string, toTenant: (key: number) => string): Promise<GrowthRow> => {
  const filled: FilledServer[] = [];
  for (const count of COUNTS) {
    const file = join(part.surroundings.directory, `${toTenant(0)}-${count}-keys.txt`);
    const lines = Array.from({ length: count }, (_, key) => `${toTenant(key)}=${toHash(toApiKey(key))}\n`);
    writeFileSync(file, lines.join(''));
    const server = await startService(part.surroundings, {
      settings: { API_KEYS_FILE: file },
      headers: { authorization: `Bearer ${toApiKey(0)}` },
    });
    filled.push({ count, server, load: { apiKeys: count } });
  }
  return measureFilled(part, what, filled, { requests: REQUESTS });
};

const toHash = (key: string): string => createHash('sha256').update(key).digest('hex');
