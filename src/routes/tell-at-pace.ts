import type { FastifyReply } from 'fastify';

/** Calls `tell` now or later; gives the way to call it off. */
export type PaceRefusal = (tell: () => void) => () => void;

/** Tells a refusal when it is its turn, or when its client has gone, whose turn is then another's. */
export const tellAtPace = ({ raw }: FastifyReply, pace: PaceRefusal, tell: () => void): void => {
  let isTold = false;
  const tellOnce = (): void => {
    if (isTold) return;
    isTold = true;
    tell();
  };
  const callOff = pace(tellOnce);
  if (isTold) return;
  raw.once('close', () => {
    callOff();
    tellOnce();
  });
};
