import type { Answer } from './answer.ts';
import { callService, type Request } from './call-service.ts';
import type { KeyStanding, Store } from './state.ts';

/** Asks the service with the key in use; never rejects. */
export type Ask = (request: Omit<Request, 'key'>) => Promise<Answer>;

/**
 * Keeps what was asked with a former key from the one that followed it: whatever comes of that is `aborted`. Notes what
 * an answer says of the key in use; `keyRefused` is told when it was refused, after the page shows so.
 */
export const createAsk = ({ read, update }: Store, keyRefused: () => void): Ask => {
  const note = (standing: KeyStanding): void => {
    if (read().keyStanding === standing) return;
    update({ keyStanding: standing });
    if (standing === 'refused') keyRefused();
  };
  return async (request) => {
    const { key, keyTurn } = read();
    const answer = await callService({ ...request, key });
    if (read().keyTurn !== keyTurn) return { kind: 'aborted' };
    if (key !== '') note(toStanding(answer, read().keyStanding));
    return answer;
  };
};

const toStanding = (answer: Answer, known: KeyStanding): KeyStanding => {
  if (answer.kind === 'done') return 'in use';
  return answer.kind === 'refused' && answer.status === 401 ? 'refused' : known;
};
