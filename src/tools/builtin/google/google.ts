import type { PageTokens } from '../../page-tokens.ts';
import type { InlineTool } from '../../tool.ts';
import type { GoogleOptions, ToolFamily, ToolGroup } from '../../tool-family.ts';
import { createCalendarTools } from './calendar-tools.ts';
import { createGoogleAccess } from './create-google-access.ts';
import { createMailTools } from './gmail-tools.ts';
import { createReadDriveFile } from './read-drive-file.ts';
import { createSearchDrive } from './search-drive.ts';

export type GoogleFamilyOptions = GoogleOptions & {
  readonly groups: ReadonlySet<ToolGroup>;
  readonly pageTokens: PageTokens;
  /** Told of the secrets in the credentials file, before they are used. */
  readonly registerSecrets: (values: readonly string[]) => void;
};

/** The tools of the groups `drive`, `mail` and `calendar`, as far as they are asked for, with one way to Google for all. */
export const createGoogle = ({ groups, pageTokens, ...access }: GoogleFamilyOptions): ToolFamily => {
  const google = createGoogleAccess(access);
  const options = { google, pageTokens };
  const ofGroup = (group: ToolGroup, create: () => readonly InlineTool[]): readonly InlineTool[] =>
    groups.has(group) ? create() : [];
  return {
    tools: [
      ...ofGroup('drive', () => [createSearchDrive(options), createReadDriveFile(options)]),
      ...ofGroup('mail', () => createMailTools(options)),
      ...ofGroup('calendar', () => createCalendarTools(options)),
    ],
    close: google.close,
  };
};
