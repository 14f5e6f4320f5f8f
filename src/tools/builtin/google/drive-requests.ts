import type { drive_v3 } from '@googleapis/drive';
import type { OAuth2Client } from 'google-auth-library';

// With the first call: the library is some megabytes that a service which never asks Drive need not pay.
/** Google's own client for Drive. */
export const openDrive = async (auth: OAuth2Client): Promise<drive_v3.Drive> =>
  (await import('@googleapis/drive')).drive({ version: 'v3', auth, universeDomain: 'googleapis.com' });
