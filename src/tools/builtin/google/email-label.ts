import { showText } from '../../http/show-url.ts';
import { RetryableToolError } from '../../tool-errors.ts';
import { listLabels } from './gmail-requests.ts';
import type { GoogleAccess, GoogleCall } from './google-access.ts';
import { toTokenHider } from './google-call.ts';

// Every mailbox has them, and their ids are their names.
const SYSTEM_LABELS: ReadonlySet<string> = new Set([
  'INBOX',
  'SENT',
  'DRAFT',
  'STARRED',
  'IMPORTANT',
  'UNREAD',
  'SPAM',
  'TRASH',
]);
const MOST_NAMED = 50;

/** The id of a label by its id or name, in any case. Rejects with a RetryableToolError that names those there are. */
export const toLabelId = async (google: GoogleAccess, label: string, call: GoogleCall): Promise<string> => {
  const wanted = label.trim().toUpperCase();
  if (SYSTEM_LABELS.has(wanted)) return wanted;
  const labels = await listLabels(google, call);
  const found = labels.find(({ id, name }) => id.toUpperCase() === wanted || name.toUpperCase() === wanted);
  if (found !== undefined) return found.id;
  const hide = toTokenHider(call);
  const names = labels.slice(0, MOST_NAMED).map(({ name }) => showText(hide(name), 50));
  const further = labels.length > MOST_NAMED ? ` and ${labels.length - MOST_NAMED} more` : '';
  throw new RetryableToolError(
    `No label is called '${showText(label, 100)}'. Choose one of these: ${names.join(', ')}${further}.`,
  );
};
