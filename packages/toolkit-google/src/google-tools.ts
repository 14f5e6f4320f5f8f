import type { ExtensionLog, InlineTool, OpenedTools, PageTokens } from 'recourse-server/extension';
import { createCalendarTools } from './calendar-tools.ts';
import { GoogleAccess } from './google-access.ts';
import { findCredentialsMistake } from './google-credentials.ts';
import { createMailTools } from './mail-tools.ts';
import { createReadDriveFile } from './read-drive-file.ts';
import { createSearchDrive } from './search-drive.ts';

export type GoogleToolsOptions = {
  readonly credentialsPath: string | undefined;
  readonly subject: string | undefined;
  readonly apiUrl: string | undefined;
  readonly groups: ReadonlySet<string>;
  readonly pageTokens: PageTokens;
  /** Told of the secrets in the credentials file, before they are used. */
  readonly registerSecrets: (values: readonly string[]) => void;
  /** Warned of a credentials file that cannot be used. */
  readonly log?: ExtensionLog;
};

/** The tools of the groups `drive`, `mail` and `calendar`, as far as they are asked for, with one way to Google for all. */
export const createGoogle = ({ groups, pageTokens, log, ...access }: GoogleToolsOptions): OpenedTools => {
  const warned = log === undefined ? undefined : warnOfMistake(access.credentialsPath, log);
  const google = new GoogleAccess(access);
  const options = { google, pageTokens };
  const ofGroup = (group: string, create: () => readonly InlineTool[]): readonly InlineTool[] =>
    groups.has(group) ? create() : [];
  return {
    tools: [
      ...ofGroup('drive', () => [createSearchDrive(options), createReadDriveFile(options)]),
      ...ofGroup('mail', () => createMailTools(options)),
      ...ofGroup('calendar', () => createCalendarTools(options)),
    ],
    close: async () => {
      await warned;
      await google.close();
    },
  };
};

const warnOfMistake = async (path: string | undefined, log: ExtensionLog): Promise<void> => {
  const mistake = path === undefined || path === '' ? null : await findCredentialsMistake(path);
  const fields = { setting: 'GOOGLE_CREDENTIALS_PATH', mistake: `the file ${mistake}` };
  if (mistake !== null) log.warn(fields, 'tool group is not configured: its calls will fail');
};
