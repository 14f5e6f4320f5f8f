import { TOOL_GROUPS, TOOLKIT_SETTINGS } from '../../toolkits/toolkits.ts';
import { listOf } from './setting-kinds.ts';

const WORDS = [...TOOL_GROUPS.keys()];
const LISTED = WORDS.join(', ');

/** Which tools are offered, and the settings that their toolkits declare. */
export const TOOL_SETTINGS = {
  TOOL_GROUPS: listOf(new RegExp(`^(${WORDS.join('|')})$`), `must be a comma-separated list of ${LISTED}`).describe(
    `Comma-separated optional tool groups to enable: ${LISTED}. See docs/tools.md.`,
  ),
  ...TOOLKIT_SETTINGS,
};
