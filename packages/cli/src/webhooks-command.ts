import { randomBytes } from 'node:crypto';
import type { ExitCode, Terminal } from 'recourse-server/cli/terminal';
import { WrongUse } from './command-output.ts';

const SECRET_BYTES = 32;

/** Makes a secret of a webhook endpoint, `whsec_` and 32 random bytes in base64, and shows it once. */
export const runWebhooks = (words: readonly string[], { write, writeError }: Terminal): ExitCode => {
  const [word = ''] = words;
  if (word !== 'secret') throw new WrongUse(`'${word}' is unknown here: did you mean 'secret'?`);
  // Only the secret on stdout, for scripts.
  write(`whsec_${randomBytes(SECRET_BYTES).toString('base64')}\n`);
  writeError(
    '\nthe secret, shown only once: for webhooks.NAME.secret in the configuration file, and for the receiver\n',
  );
  return 0;
};
