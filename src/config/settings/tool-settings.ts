import { listOf } from '../../extensions/setting-kinds.ts';
import { EXTENSION_SETTINGS, OWN_EXTENSIONS } from '../../packages.ts';

/** How TOOL_GROUPS is read where these are its words. */
export const toGroupList = (words: readonly string[]) => {
  const listed = words.join(', ');
  return listOf(new RegExp(`^(${words.join('|')})$`), `must be a comma-separated list of ${listed}`).describe(
    `Comma-separated optional tool groups to enable: ${listed}. See docs/tools.md.`,
  );
};

/** Which tools are offered, and the settings that the extensions of every service declare. */
export const TOOL_SETTINGS = {
  TOOL_GROUPS: toGroupList([...OWN_EXTENSIONS.groups.keys()]),
  ...EXTENSION_SETTINGS,
};
