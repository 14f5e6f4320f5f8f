import { isRecord } from 'recourse-server/contract/json-record';

/**
 * Edited arguments with what was hidden from the person who edits them, wherever that comes back as it was shown. `shown`: the
 * arguments as they were shown.
 */
export const restoreHidden = (edited: unknown, shown: unknown, original: unknown): unknown => {
  if (isRecord(edited) && isRecord(shown) && isRecord(original))
    return Object.fromEntries(
      Object.entries(edited).map(([name, value]) => [name, restoreHidden(value, shown[name], original[name])]),
    );
  if (Array.isArray(edited) && Array.isArray(shown) && Array.isArray(original))
    return edited.map((item, place) => restoreHidden(item, shown[place], original[place]));
  return typeof edited === 'string' && edited === shown ? original : edited;
};
