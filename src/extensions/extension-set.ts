import type { Extension, Schemas, SettingPurpose, ToolGroup } from './extension.ts';

/** Extensions of one service, and what their declarations say together. */
export type ExtensionSet = {
  readonly all: readonly Extension[];
  /** How the settings of all are read, by name. */
  readonly settings: Schemas;
  /** The sections of the configuration file that name sources. */
  readonly sources: Extension['sources'];
  /** The words of TOOL_GROUPS. */
  readonly groups: ReadonlyMap<string, ToolGroup>;
  /** What settings are for: one entry for each that is more than a limit or a switch. */
  readonly purposes: readonly (SettingPurpose & {
    readonly setting: string;
    /** The words of TOOL_GROUPS that it is for. */
    readonly groups: readonly string[];
  })[];
};

/** What these extensions declare. Of two that share a name, a setting, a section or a group, the later one wins. */
export const createExtensionSet = (all: readonly Extension[]): ExtensionSet => ({
  all,
  settings: Object.assign({}, ...all.map(({ settings }) => settings)),
  sources: Object.assign({}, ...all.map(({ sources }) => sources)),
  groups: new Map(all.flatMap(({ groups }) => Object.entries(groups))),
  purposes: all.flatMap(({ groups, purposes }) =>
    Object.entries(purposes).flatMap(([setting, purpose]) =>
      purpose === undefined ? [] : [{ ...purpose, setting, groups: Object.keys(groups) }],
    ),
  ),
});
