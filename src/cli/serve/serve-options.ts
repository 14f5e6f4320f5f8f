import type { Variables } from '../terminal/cli-context.ts';

/** Each as it was written on the command line. */
export type ServeOptions = {
  readonly port?: string;
  readonly host?: string;
  readonly tools?: string;
  readonly config?: string;
  readonly envFile?: string;
};

/** The settings that the options stand for; each overrides the variable of the environment. */
export const toSettings = ({ port, host, tools, config }: ServeOptions): Variables => ({
  ...(port === undefined ? {} : { PORT: port }),
  ...(host === undefined ? {} : { HOST: host }),
  ...(tools === undefined ? {} : { TOOLS_DIR: tools }),
  ...(config === undefined ? {} : { CONFIG_FILE: config }),
});
