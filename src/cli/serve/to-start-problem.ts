import type { Config } from '../../settings/config.ts';

/** Why the service cannot listen, and which setting to change. */
export const toStartProblem = (error: unknown, { HOST, PORT, OPS_PORT }: Config): string => {
  if (!(error instanceof Error)) return String(error);
  const { code, port } = Object.assign({ code: '', port: PORT }, error);
  const setting = port === OPS_PORT ? 'OPS_PORT' : 'PORT';
  switch (code) {
    case 'EADDRINUSE':
      return `port ${port} on ${HOST} is in use: stop what listens there, or set ${setting}.`;
    case 'EACCES':
      return `port ${port} on ${HOST} may not be used by this user: set ${setting} to 1024 or more.`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `HOST ${HOST} is not an address of this machine: set HOST to one that is, or to 0.0.0.0 for all.`;
    default:
      return error.message;
  }
};
