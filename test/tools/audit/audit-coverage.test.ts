import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { ToolCatalogue, type ToolDescription } from '#src/contract/tool-description.ts';
import { TOOL_SETTINGS } from '#src/settings/tool-settings.ts';
import { SITUATIONS, type Situation } from '../../../scripts/tools-audit/audit-row.ts';
import { AUDIT_ROWS } from '../../../scripts/tools-audit/audit-rows.ts';
import { GROUP_TEXTS } from '../../../scripts/tools-audit/group-texts.ts';
import { readToolGroups } from '../../../scripts/tools-audit/read-tool-groups.ts';
import { createAuditLab } from './audit-lab.ts';

const lab = createAuditLab();
let tools: readonly ToolDescription[] = [];

beforeAll(async () => {
  const { url } = await lab.bare();
  tools = ToolCatalogue.parse(await (await fetch(`${url}/tools`)).json()).tools;
});
afterAll(() => lab.close());

const GOOGLE: readonly Situation[] = [
  'set-up missing',
  'API not enabled',
  'malformed parameter',
  'wrong value',
  'page out of order',
  'nothing is left',
  'credentials refused',
  'no access',
  'rate limit',
  'upstream is down',
];
const SLACK: readonly Situation[] = [
  'set-up missing',
  'malformed parameter',
  'wrong value',
  'credentials refused',
  'no access',
  'rate limit',
  'upstream is down',
];

const PAGED: readonly Situation[] = ['not all can be had'];

/** Which situations a tool can meet at all: each has a row, and no row tells of another. */
const FITS: Readonly<Record<string, readonly Situation[]>> = {
  echo: ['malformed parameter'],
  read_file: ['page out of order', 'malformed parameter', 'wrong value', 'list is empty', 'nothing is left'],
  list_files: ['malformed parameter', 'wrong value', 'list is empty', 'nothing is left'],
  search_files: ['malformed parameter', 'wrong value', 'search matched nothing'],
  write_file: ['malformed parameter', 'wrong value'],
  fetch_url: [
    'malformed parameter',
    'wrong value',
    'list is empty',
    'credentials refused',
    'no access',
    'rate limit',
    'upstream is down',
  ],
  list_notes: ['set-up missing', 'malformed parameter', 'wrong value', 'list is empty', 'nothing is left'],
  search_notes: ['set-up missing', 'malformed parameter', 'wrong value', 'search matched nothing', 'nothing is left'],
  read_note: ['set-up missing', 'malformed parameter', 'wrong value', 'page out of order', 'list is empty'],
  run_shell_command: ['malformed parameter', 'command failed', 'search matched nothing', 'list is empty'],
  search_drive: [...GOOGLE, ...PAGED, 'search matched nothing'],
  read_drive_file: [...GOOGLE, 'list is empty'],
  list_emails: [...GOOGLE, ...PAGED, 'list is empty'],
  search_emails: [...GOOGLE, ...PAGED, 'search matched nothing'],
  list_calendar_events: [...GOOGLE, ...PAGED, 'time range has no events'],
  search_calendar_events: [...GOOGLE, ...PAGED, 'time range has no events', 'search matched nothing'],
  list_slack_channels: [
    ...SLACK,
    ...PAGED,
    'page out of order',
    'nothing is left',
    'list is empty',
    'search matched nothing',
  ],
  post_slack_message: SLACK,
};

const situationsOf = (tool: string): readonly Situation[] => [
  ...new Set(AUDIT_ROWS.filter((row) => row.tool === tool).map(({ situation }) => situation)),
];

const kindsOf = (tool: string) => situationsOf(tool).map((situation) => SITUATIONS[situation]);

const Schema = z.object({ properties: z.record(z.string(), z.unknown()).default({}) });
const propertiesOf = (schema: unknown) => Schema.parse(schema).properties;

const isDay = (property: unknown): boolean => /"format":"date"/.test(JSON.stringify(property));

test('every tool of a service with all groups has a row for each situation it can meet, and for no other', () => {
  expect(tools.map(({ name }) => name).sort()).toEqual(Object.keys(FITS).sort());
  expect(Object.fromEntries(tools.map(({ name }) => [name, [...situationsOf(name)].sort()]))).toEqual(
    Object.fromEntries(Object.entries(FITS).map(([name, situations]) => [name, [...situations].sort()])),
  );
  expect(AUDIT_ROWS.filter(({ tool }) => FITS[tool] === undefined)).toEqual([]);
});

test('every tool that takes something says what is malformed, and one that takes a day says how to send it', () => {
  const silent = tools.filter(({ name }) => !situationsOf(name).includes('malformed parameter'));
  expect(silent.map(({ name }) => name)).toEqual([]);
  const withDays = tools
    .filter(({ input_schema: schema }) => Object.values(propertiesOf(schema)).some(isDay))
    .map(({ name }) => name);
  expect(withDays).toEqual(TAKE_DAYS);
  for (const tool of withDays)
    expect(AUDIT_ROWS).toContainEqual(expect.objectContaining({ tool, says: 'Invalid date format. Use YYYY-MM-DD.' }));
});

test('every tool that lists or searches says so where there is nothing, and asks for no retry', () => {
  const finders = tools.map(({ name }) => name).filter((name) => /^(list|search)_/.test(name));
  expect(finders.length).toBeGreaterThan(1);
  expect(finders.filter((name) => !kindsOf(name).includes('empty'))).toEqual([]);
});

test('every tool of a group answers with a display and a count, and lists with a page and has_more', async () => {
  const groups = await readToolGroups();
  const optional = [...groups].flatMap(([group, facts]) => (group === 'own' ? [] : facts));
  for (const { name, outputSchema, inputSchema } of optional) {
    const members = Object.keys(propertiesOf(outputSchema));
    const paged = Object.hasOwn(propertiesOf(inputSchema), 'page') ? ['page', 'has_more'] : [];
    expect(members, name).toEqual(expect.arrayContaining(['display', 'count', ...paged]));
  }
});

test('the page names every setting of the tools, each with its group', () => {
  const named = new Set(Object.values(GROUP_TEXTS).flatMap(({ settings }) => settings));
  expect(Object.keys(TOOL_SETTINGS).filter((name) => name !== 'TOOL_GROUPS' && !named.has(name))).toEqual([]);
});

test('the shell is on the page also where the machine has no sandbox', async () => {
  const groups = await readToolGroups();
  expect(groups.get('shell')?.map(({ name }) => name)).toEqual(['run_shell_command']);
});

const TAKE_DAYS = ['list_calendar_events', 'search_calendar_events', 'search_drive', 'search_emails'];
