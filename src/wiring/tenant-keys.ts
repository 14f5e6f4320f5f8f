import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

/** An opaque key for something of a tenant that a caller named. */
export type ToTenantKey = (tenant: string, chosen: string) => string;

// Whatever a caller chose is stored as its hash alone, and for its tenant alone.
export const toTenantKey: ToTenantKey = (tenant, chosen) => `${tenant}:${hash('sha256', chosen)}`;

// A name has at most 512 places: about 3 MB at most, and 0.5 MB of usual names.
const REMEMBERED = 2000;

/** The same for names that come again and again, as that of a session does with each of its batches. */
export const createTenantKeys = (): ToTenantKey => {
  const known = new LRUCache<string, string>({ max: REMEMBERED });
  return (tenant, chosen) => {
    // No tenant has a colon in its name.
    const named = `${tenant}:${chosen}`;
    const remembered = known.get(named);
    if (remembered !== undefined) return remembered;
    const key = toTenantKey(tenant, chosen);
    known.set(named, key);
    return key;
  };
};
