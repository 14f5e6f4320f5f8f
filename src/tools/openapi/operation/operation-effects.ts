import type { Effects } from '../../../contract/failure.ts';
import type { DocumentedOperation } from './list-operations.ts';
import { fitsPattern } from './select-operations.ts';

// RFC 9110, section 9.2: safe and idempotent methods.
const EFFECTS_OF_METHOD = {
  path: 'write',
  get: 'read',
  head: 'read',
  options: 'read',
  trace: 'read',
  put: 'idempotent',
  delete: 'idempotent',
  post: 'write',
  patch: 'write',
} as const satisfies Record<DocumentedOperation['method'], Effects>;

/** What a repeat may do: the first pattern of the settings that fits, else what the method means. */
export const toEffects = (
  method: DocumentedOperation['method'],
  id: string,
  overrides: Readonly<Record<string, Effects>>,
): Effects => Object.entries(overrides).find(([pattern]) => fitsPattern(id, pattern))?.[1] ?? EFFECTS_OF_METHOD[method];
