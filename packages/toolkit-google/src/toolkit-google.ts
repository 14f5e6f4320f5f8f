import { baseAddress, defineExtension } from 'recourse-server/extension';
import * as z from 'zod';

/** Google Drive, Gmail and Google Calendar, which are only read. */
export const extension = defineExtension({
  name: 'google',
  groups: {
    drive: {
      title: 'Google Drive',
      packages: ['@googleapis/drive', 'google-auth-library'],
    },
    mail: {
      title: 'Gmail',
      packages: ['@googleapis/gmail', 'google-auth-library'],
    },
    calendar: {
      title: 'Google Calendar',
      packages: ['@googleapis/calendar', 'google-auth-library'],
    },
  },
  settings: {
    GOOGLE_CREDENTIALS_PATH: z
      .string()
      .optional()
      .describe(
        "A JSON file with the key of a Google service account, or with a user's client_id, client_secret and refresh_token.",
      ),
    GOOGLE_SUBJECT: z
      .string()
      .optional()
      .describe('The user that a service account impersonates (domain-wide delegation): required for mail.'),
    GOOGLE_API_URL: baseAddress.describe(
      'Base URL for requests to Google, sign-in included, instead of its own hosts.',
    ),
  },
  purposes: {
    GOOGLE_CREDENTIALS_PATH: { use: 'needed', path: 'credentials' },
    GOOGLE_SUBJECT: { use: 'further' },
    GOOGLE_API_URL: { use: 'further' },
  },
  open: async (settings, { groups, pageTokens, registerSecrets, log }) =>
    (await import('./google-tools.ts')).createGoogle({
      groups,
      credentialsPath: settings.GOOGLE_CREDENTIALS_PATH,
      subject: settings.GOOGLE_SUBJECT,
      apiUrl: settings.GOOGLE_API_URL,
      pageTokens,
      registerSecrets: (values) => registerSecrets('GOOGLE_CREDENTIALS_PATH', values),
      log,
    }),
});
