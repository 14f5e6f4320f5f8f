import { createAuditLab } from '@recourse/test-support/audit-lab.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { ToolCatalogue, type ToolDescription } from '#src/contract/tool-description.ts';
import { SITUATIONS, type Situation } from '../../../scripts/tools-audit/audit-row.ts';
import { type AuditedGroup, readAuditedGroups } from '../../../scripts/tools-audit/audited-groups.ts';

const lab = createAuditLab();
let tools: readonly ToolDescription[] = [];
let groups: readonly AuditedGroup[] = [];

beforeAll(async () => {
  const { url } = await lab.bare();
  tools = ToolCatalogue.parse(await (await fetch(`${url}/tools`)).json()).tools;
  groups = await readAuditedGroups();
});
afterAll(() => lab.close());

const rowsOf = (tool: string) =>
  groups
    .flatMap((group) => group.tools)
    .filter(({ facts }) => facts.name === tool)
    .flatMap(({ rows }) => rows);
const situationsOf = (tool: string): readonly Situation[] => rowsOf(tool).map(({ situation }) => situation);

const Schema = z.object({ properties: z.record(z.string(), z.unknown()).default({}) });
const propertiesOf = (schema: unknown) => Schema.parse(schema).properties;

const isDay = (property: unknown): boolean => /"format":"date"/.test(JSON.stringify(property));

test('the page has every tool of a service with all groups', () => {
  const audited = groups.flatMap((group) => group.tools.map(({ facts }) => facts.name));
  expect(tools.map(({ name }) => name).sort()).toEqual(audited.sort());
});

test('every tool that takes something says what is malformed, and one that takes a day says how to send it', () => {
  const silent = tools.filter(({ name }) => !situationsOf(name).includes('malformed parameter'));
  expect(silent.map(({ name }) => name)).toEqual([]);
  const withDays = tools.filter(({ input_schema: schema }) => Object.values(propertiesOf(schema)).some(isDay));
  for (const { name } of withDays)
    expect(rowsOf(name)).toContainEqual(expect.objectContaining({ says: 'Invalid date format. Use YYYY-MM-DD.' }));
});

test('every tool that lists or searches says so where there is nothing, and asks for no retry', () => {
  const finders = tools.map(({ name }) => name).filter((name) => /^(list|search)_/.test(name));
  expect(finders.length).toBeGreaterThan(1);
  const isSilent = (name: string): boolean => !situationsOf(name).some((one) => SITUATIONS[one] === 'empty');
  expect(finders.filter(isSilent)).toEqual([]);
});

test('every tool of a group answers with a display and a count, and lists with a page and has_more', () => {
  const optional = groups.flatMap((group) => (group.group === null ? [] : group.tools.map(({ facts }) => facts)));
  for (const { name, outputSchema, inputSchema } of optional) {
    const members = Object.keys(propertiesOf(outputSchema));
    const paged = Object.hasOwn(propertiesOf(inputSchema), 'page') ? ['page', 'has_more'] : [];
    expect(members, name).toEqual(expect.arrayContaining(['display', 'count', ...paged]));
  }
});

test('the shell is on the page also where the machine has no sandbox', () => {
  const shell = groups.find(({ group }) => group === 'shell');
  expect(shell?.tools.map(({ facts }) => facts.name)).toEqual(['run_shell_command']);
});
