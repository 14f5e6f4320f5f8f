import type { SettingPurpose, ToolGroup } from '../toolkit-api/toolkit.ts';

/** Every toolkit, one line each, in the order of their settings and groups. */
export const TOOLKITS = [
  (await import('./echo/echo.ts')).echo,
  (await import('./files/files.ts')).files,
  (await import('./notes/notes.ts')).notes,
  (await import('./shell/shell.ts')).shell,
  (await import('./google/google.ts')).google,
  (await import('./slack/slack.ts')).slack,
  (await import('./web/web.ts')).web,
] as const;

type Intersection<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

/** The settings of all toolkits, each as its toolkit reads it. */
export const TOOLKIT_SETTINGS: Intersection<(typeof TOOLKITS)[number]['settings']> = Object.assign(
  {},
  ...TOOLKITS.map(({ settings }) => settings),
);

/** The words of TOOL_GROUPS. */
export const TOOL_GROUPS: ReadonlyMap<string, ToolGroup> = new Map(
  TOOLKITS.flatMap(({ groups }) => Object.entries(groups)),
);

/** What settings of toolkits are for: one entry for each that is more than a limit or a switch. */
export const SETTING_PURPOSES: readonly (SettingPurpose & {
  readonly setting: string;
  /** The words of TOOL_GROUPS that it is for. */
  readonly groups: readonly string[];
})[] = TOOLKITS.flatMap(({ groups, purposes }) =>
  Object.entries(purposes).map(([setting, purpose]: readonly [string, SettingPurpose]) => ({
    ...purpose,
    setting,
    groups: Object.keys(groups),
  })),
);
