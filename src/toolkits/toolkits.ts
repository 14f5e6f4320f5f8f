import type { SettingPurpose, ToolGroup } from '@recourse/toolkit-kit/toolkit';

/** Every toolkit, one line each, in the order of their settings and groups. */
export const TOOLKITS = [
  (await import('./echo/echo.ts')).echo,
  (await import('@recourse/toolkit-files/files')).files,
  (await import('@recourse/toolkit-notes/notes')).notes,
  (await import('@recourse/toolkit-shell/shell')).shell,
  (await import('@recourse/toolkit-google/google')).google,
  (await import('@recourse/toolkit-slack/slack')).slack,
  (await import('@recourse/toolkit-web/web')).web,
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
