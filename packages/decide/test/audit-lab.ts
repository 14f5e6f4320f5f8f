import { readFileSync } from 'node:fs';
import { AuditEvent } from '@recourse/decide/audit/audit-event';
import { parseJson } from 'recourse-server/json/parse-json';
import { expect } from 'vitest';
import type * as z from 'zod';

export type AuditLine = z.infer<typeof AuditEvent>;

/** The lines of an audit log, each whole and as the schema has it. */
export const parseAuditLines = (text: string): readonly AuditLine[] => {
  if (text === '') return [];
  expect(text.endsWith('\n')).toBe(true);
  return text
    .slice(0, -1)
    .split('\n')
    .map((line) => {
      const parsed = parseJson(line);
      return AuditEvent.parse(parsed.ok ? parsed.value : line);
    });
};

export const readAudit = (path: string): readonly AuditLine[] => parseAuditLines(readFileSync(path, 'utf8'));

export const ofKind = <Kind extends AuditLine['kind']>(lines: readonly AuditLine[], kind: Kind) =>
  lines.filter((line): line is Extract<AuditLine, { kind: Kind }> => line.kind === kind);
