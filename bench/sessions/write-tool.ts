import { fileURLToPath } from 'node:url';

/** Settings of a service that has `echo_write`. */
export const WITH_WRITE_TOOL = {
  TOOLS_DIR: fileURLToPath(new URL('tools', import.meta.url)),
  TOOLS_INLINE: 'echo_write',
  TOOL_HOSTS_MIN: '0',
};
