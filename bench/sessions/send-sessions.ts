import { toSessionId } from '../bodies.ts';
import { openConnection, toPost } from '../http-connection.ts';
import { PROFILE_PLANS, toProfileBody } from './profiles.ts';
import { SessionPlan, type SessionsMade } from './session-plan.ts';

/** Makes sessions through the service: a connection posts the rounds of one session in order, then those of the next. */
const sendSessions = async (plan: SessionPlan): Promise<SessionsMade> => {
  const made = await Promise.all(Array.from({ length: plan.connections }, (_, first) => sendShare(plan, first)));
  return {
    batches: made.reduce((sum, { batches }) => sum + batches, 0),
    failedCalls: made.reduce((sum, { failedCalls }) => sum + failedCalls, 0),
  };
};

const sendShare = (plan: SessionPlan, first: number): Promise<SessionsMade> =>
  new Promise((resolve, reject) => {
    const { url, profile, sessions, connections } = plan;
    const { rounds } = PROFILE_PLANS[profile];
    let [session, round, batches, failedCalls] = [first, 0, 0, 0];
    const sendNext = (): void => {
      if (session < sessions) {
        connection.send(toPost(url, toProfileBody(profile, round, toSessionId(session))));
        return;
      }
      connection.close();
      resolve({ batches, failedCalls });
    };
    const connection = openConnection(url, {
      onAnswer: ({ status, body }) => {
        if (status !== 200) return reject(new Error(`A batch of ${profile} came to ${status}: ${body.slice(0, 500)}`));
        batches += 1;
        failedCalls += body.split('"success":false').length - 1;
        round = (round + 1) % rounds;
        if (round === 0) session += connections;
        return sendNext();
      },
      onBroken: (reason) => reject(new Error(reason)),
    });
    sendNext();
  });

process.on('message', (message) => {
  void sendSessions(SessionPlan.parse(message)).then((made) => process.send?.(made));
});
// Ends with the bench, however that ends.
process.once('disconnect', () => process.exit(0));
